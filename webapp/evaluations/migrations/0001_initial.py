import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('runs', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ProblemList',
            fields=[
                ('id', models.CharField(max_length=32, primary_key=True, serialize=False)),
                ('problems', models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name='EvaluationRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('finished', 'Finished'), ('stopped', 'Stopped'), ('refused', 'Refused'), ('failed', 'Failed')], default='queued', max_length=10)),
                ('stop_requested', models.BooleanField(default=False)),
                ('message', models.TextField(blank=True, default='')),
                ('process', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('step', models.PositiveIntegerField()),
                ('owner', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='evaluation_requests', to='runs.run')),
            ],
            options={
                'ordering': ['-pk'],
                'abstract': False,
                'indexes': [models.Index(fields=['state', 'created_at'], name='evaluations_state_9be80a_idx')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('state__in', ('queued', 'running'))), fields=('run', 'step'), name='one_live_request')],
            },
        ),
        migrations.CreateModel(
            name='Evaluation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('step', models.PositiveIntegerField()),
                ('time', models.FloatField()),
                ('environment', models.CharField(max_length=60)),
                ('episodes', models.PositiveIntegerField()),
                ('successes', models.PositiveIntegerField()),
                ('success', models.FloatField()),
                ('low', models.FloatField()),
                ('high', models.FloatField()),
                ('mean_return', models.FloatField()),
                ('faults', models.PositiveIntegerField(default=0)),
                ('problems', models.PositiveIntegerField(default=0)),
                ('trained_on', models.PositiveIntegerField(default=0)),
                ('first_seed', models.BigIntegerField()),
                ('temperature', models.FloatField()),
                ('final', models.BooleanField(default=False)),
                ('requested', models.BooleanField(default=False)),
                ('solved', models.BinaryField(default=bytes)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='evaluations', to='runs.run')),
                ('problem_list', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='evaluations', to='evaluations.problemlist')),
            ],
            options={
                'ordering': ['step'],
                'constraints': [models.UniqueConstraint(fields=('run', 'step', 'environment', 'final', 'requested'), name='one_row_per_evaluation')],
            },
        ),
    ]
