import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('evaluations', '0001_initial'),
        ('runs', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='EvaluationRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('step', models.PositiveIntegerField()),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('finished', 'Finished'), ('stopped', 'Stopped'), ('failed', 'Failed')], default='queued', max_length=10)),
                ('stop_requested', models.BooleanField(default=False)),
                ('message', models.TextField(blank=True, default='')),
                ('process', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['-pk'],
            },
        ),
        migrations.RemoveConstraint(
            model_name='evaluation',
            name='one_row_per_evaluation',
        ),
        migrations.AddField(
            model_name='evaluation',
            name='requested',
            field=models.BooleanField(default=False),
        ),
        migrations.AddConstraint(
            model_name='evaluation',
            constraint=models.UniqueConstraint(fields=('run', 'step', 'environment', 'final', 'requested'), name='one_row_per_evaluation'),
        ),
        migrations.AddField(
            model_name='evaluationrequest',
            name='owner',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='evaluationrequest',
            name='run',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='evaluation_requests', to='runs.run'),
        ),
        migrations.AddIndex(
            model_name='evaluationrequest',
            index=models.Index(fields=['state', 'created_at'], name='evaluations_state_9be80a_idx'),
        ),
        migrations.AddConstraint(
            model_name='evaluationrequest',
            constraint=models.UniqueConstraint(condition=models.Q(('state__in', ['queued', 'running'])), fields=('run', 'step'), name='one_live_request'),
        ),
    ]
