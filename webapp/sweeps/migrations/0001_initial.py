import django.db.models.deletion
import django.utils.timezone
import webapp.projects.models
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('environments', '0001_initial'),
        ('projects', '0001_initial'),
        ('runs', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Sweep',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=80)),
                ('description', models.TextField(blank=True, default='')),
                ('notes', models.TextField(blank=True, default='')),
                ('curves', models.JSONField(blank=True, default=list)),
                ('preset', models.CharField(default='custom', max_length=60)),
                ('config', models.JSONField()),
                ('plan', models.JSONField()),
                ('adapters', models.JSONField(blank=True, default=dict)),
                ('state', models.CharField(choices=[('running', 'Running'), ('stopped', 'Stopped'), ('finished', 'Finished')], default='running', max_length=10)),
                ('at_once', models.PositiveSmallIntegerField(default=1)),
                ('retries', models.PositiveSmallIntegerField(default=1)),
                ('priority', models.SmallIntegerField(choices=[(-1000, 'Low'), (0, 'Normal'), (1000, 'High')], default=0)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('stopped_because', models.TextField(blank=True, default='')),
                ('resumed_at', models.DateTimeField(blank=True, null=True)),
                ('environment_version', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, to='environments.environmentversion')),
                ('owner', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(default=webapp.projects.models.default_project_id, on_delete=django.db.models.deletion.PROTECT, related_name='sweeps', to='projects.project')),
            ],
            options={
                'ordering': ['-created_at', '-pk'],
                'indexes': [models.Index(fields=['state'], name='sweeps_swee_state_06e2cc_idx')],
            },
        ),
        migrations.CreateModel(
            name='PlannedRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('order', models.PositiveIntegerField()),
                ('point_key', models.CharField(max_length=16)),
                ('labels', models.JSONField()),
                ('changes', models.JSONField()),
                ('seed', models.PositiveIntegerField()),
                ('again', models.BooleanField(default=False)),
                ('retries', models.PositiveSmallIntegerField(default=0)),
                ('pruned', models.TextField(blank=True, default='')),
                ('compared_at', models.PositiveIntegerField(default=0)),
                ('problem', models.TextField(blank=True, default='')),
                ('run', models.OneToOneField(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='planned', to='runs.run')),
                ('sweep', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='planned', to='sweeps.sweep')),
            ],
            options={
                'ordering': ['order'],
                'constraints': [models.UniqueConstraint(fields=('sweep', 'point_key', 'seed'), name='one_row_per_planned_run')],
            },
        ),
    ]
