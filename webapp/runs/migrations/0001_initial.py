import django.db.models.deletion
import django.utils.timezone
import webapp.projects.models
import webapp.runs.models.run
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('environments', '0001_initial'),
        ('projects', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Run',
            fields=[
                ('id', models.CharField(default=webapp.runs.models.run.new_run_id, editable=False, max_length=10, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=80)),
                ('notes', models.TextField(blank=True, default='')),
                ('preset', models.CharField(default='custom', max_length=60)),
                ('fork_step', models.PositiveIntegerField(blank=True, null=True)),
                ('ancestor_steps', models.PositiveIntegerField(default=0)),
                ('colour', models.PositiveSmallIntegerField(default=1)),
                ('imported_from', models.CharField(blank=True, default='', max_length=200)),
                ('config', models.JSONField()),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('starting', 'Starting'), ('running', 'Running'), ('paused', 'Paused'), ('stalled', 'Stalled'), ('lost', 'Lost'), ('stopping', 'Stopping'), ('finished', 'Finished'), ('stopped', 'Stopped'), ('failed', 'Failed'), ('crashed', 'Crashed'), ('reporting', 'Running elsewhere')], default='queued', max_length=10)),
                ('state_reason', models.TextField(blank=True, default='')),
                ('state_remedy', models.TextField(blank=True, default='')),
                ('wait_reason', models.CharField(blank=True, default='', max_length=200)),
                ('priority', models.IntegerField(default=0)),
                ('requested', models.CharField(choices=[('run', 'Run'), ('pause', 'Pause'), ('stop', 'Stop')], default='run', max_length=5)),
                ('checkpoint_requests', models.PositiveIntegerField(default=0)),
                ('stop_requests', models.PositiveIntegerField(default=0)),
                ('stop_requested_at', models.DateTimeField(blank=True, null=True)),
                ('pruned', models.TextField(blank=True, default='')),
                ('preempted', models.TextField(blank=True, default='')),
                ('settings_changes', models.JSONField(default=dict)),
                ('settings_revision', models.PositiveIntegerField(default=0)),
                ('attempt', models.PositiveIntegerField(default=1)),
                ('epoch', models.PositiveIntegerField(default=0)),
                ('lease_holder', models.CharField(blank=True, default='', max_length=120)),
                ('lease_expires', models.DateTimeField(blank=True, null=True)),
                ('process', models.JSONField(default=dict)),
                ('stop_proof', models.JSONField(default=dict)),
                ('restarts', models.PositiveIntegerField(default=0)),
                ('restart_pause', models.FloatField(blank=True, null=True)),
                ('faults', models.JSONField(default=list)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('queued_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('last_heartbeat_at', models.DateTimeField(blank=True, null=True)),
                ('last_progress', models.DateTimeField(blank=True, null=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('archived_at', models.DateTimeField(blank=True, null=True)),
                ('event_offset', models.BigIntegerField(default=0)),
                ('last_seq', models.BigIntegerField(default=0)),
                ('lines_refused', models.PositiveIntegerField(default=0)),
                ('step', models.PositiveIntegerField(default=0)),
                ('total_steps', models.PositiveIntegerField(default=0)),
                ('phase', models.CharField(blank=True, default='', max_length=20)),
                ('tokens', models.BigIntegerField(default=0)),
                ('seconds', models.FloatField(default=0.0)),
                ('metrics', models.JSONField(default=dict)),
                ('verdict', models.JSONField(blank=True, default=dict)),
                ('cloned_from', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='clones', to='runs.run')),
                ('environment_version', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='environments.environmentversion')),
                ('forked_from', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='forks', to='runs.run')),
                ('owner', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(default=webapp.projects.models.default_project_id, on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='projects.project')),
            ],
            options={
                'ordering': ['-created_at'],
            },
        ),
        migrations.CreateModel(
            name='DeletedRun',
            fields=[
                ('id', models.CharField(max_length=10, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=80)),
                ('who', models.CharField(max_length=150)),
                ('freed', models.BigIntegerField()),
                ('time', models.DateTimeField(default=django.utils.timezone.now)),
                ('project', models.ForeignKey(default=webapp.projects.models.default_project_id, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='projects.project')),
            ],
        ),
        migrations.CreateModel(
            name='PastUsage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('run_id', models.CharField(max_length=10, unique=True)),
                ('devices', models.PositiveIntegerField()),
                ('held', models.JSONField()),
                ('ended_at', models.DateTimeField(db_index=True)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Ingestion',
            fields=[
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='ingestion', serialize=False, to='runs.run')),
                ('source', models.CharField(max_length=40)),
                ('received_seq', models.BigIntegerField(default=0)),
                ('written_seq', models.BigIntegerField(default=0)),
                ('written_bytes', models.BigIntegerField(default=0)),
                ('step', models.BigIntegerField(default=-1)),
                ('metrics', models.JSONField(default=dict)),
                ('tokens', models.BigIntegerField(default=0)),
                ('started_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('watched_step', models.BigIntegerField(default=-1)),
                ('detectors', models.JSONField(default=dict)),
            ],
        ),
        migrations.CreateModel(
            name='ListedRun',
            fields=[
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='listed', serialize=False, to='runs.run')),
                ('text', models.TextField()),
                ('environment', models.CharField(max_length=200)),
                ('model', models.CharField(max_length=200)),
                ('seed', models.BigIntegerField(null=True)),
                ('config_key', models.CharField(db_index=True, max_length=16)),
            ],
        ),
        migrations.CreateModel(
            name='Checkpoint',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('step', models.PositiveIntegerField()),
                ('path', models.CharField(max_length=200)),
                ('bytes', models.BigIntegerField()),
                ('reason', models.CharField(max_length=10)),
                ('time', models.FloatField()),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='checkpoints', to='runs.run')),
            ],
            options={
                'ordering': ['-step'],
            },
        ),
        migrations.CreateModel(
            name='Alert',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seq', models.BigIntegerField()),
                ('attempt', models.PositiveIntegerField(default=1)),
                ('step', models.PositiveIntegerField()),
                ('time', models.FloatField()),
                ('rule', models.CharField(max_length=60)),
                ('severity', models.CharField(max_length=10)),
                ('message', models.TextField()),
                ('metric', models.TextField(blank=True, default='')),
                ('value', models.FloatField(default=0.0)),
                ('baseline', models.FloatField(null=True)),
                ('since', models.IntegerField(null=True)),
                ('fork_before', models.IntegerField(null=True)),
                ('action', models.CharField(default='notify', max_length=10)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='alerts', to='runs.run')),
            ],
            options={
                'ordering': ['-seq'],
            },
        ),
        migrations.CreateModel(
            name='MetricName',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=300)),
                ('last', models.FloatField(null=True)),
                ('lowest', models.FloatField(null=True)),
                ('highest', models.FloatField(null=True)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='metric_names', to='runs.run')),
            ],
            options={
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='RecordProblem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('line', 'Unreadable line'), ('gap', 'Missing events'), ('shorter', 'File cut or replaced'), ('behind', 'Events not in the file')], max_length=10)),
                ('offset', models.BigIntegerField()),
                ('reason', models.TextField()),
                ('line', models.TextField(blank=True, default='')),
                ('time', models.DateTimeField(default=django.utils.timezone.now)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='record_problems', to='runs.run')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='RunEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seq', models.BigIntegerField()),
                ('attempt', models.PositiveIntegerField(default=1)),
                ('kind', models.CharField(max_length=30)),
                ('step', models.PositiveIntegerField()),
                ('time', models.FloatField()),
                ('payload', models.JSONField()),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='events', to='runs.run')),
            ],
            options={
                'ordering': ['seq'],
            },
        ),
        migrations.CreateModel(
            name='RunTag',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=40)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tags', to='runs.run')),
            ],
            options={
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='StepGroups',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seq', models.BigIntegerField()),
                ('attempt', models.PositiveIntegerField(default=1)),
                ('step', models.PositiveIntegerField()),
                ('threshold', models.FloatField()),
                ('scores', models.JSONField()),
                ('kept', models.JSONField()),
                ('detail', models.JSONField()),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='groups', to='runs.run')),
            ],
            options={
                'verbose_name_plural': 'groups of steps',
                'ordering': ['step'],
            },
        ),
        migrations.CreateModel(
            name='StepMetrics',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seq', models.BigIntegerField()),
                ('attempt', models.PositiveIntegerField(default=1)),
                ('epoch', models.PositiveIntegerField(default=0)),
                ('step', models.PositiveIntegerField()),
                ('time', models.FloatField()),
                ('tokens', models.BigIntegerField()),
                ('seconds', models.FloatField()),
                ('skipped', models.CharField(blank=True, default='', max_length=200)),
                ('metrics', models.JSONField()),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='steps', to='runs.run')),
            ],
            options={
                'ordering': ['step'],
            },
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(fields=['state', 'lease_expires'], name='runs_run_state_6e62f4_idx'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(fields=['-created_at'], name='runs_run_created_79307a_idx'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(fields=['project', '-created_at', 'id'], name='runs_newest_of_project'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(fields=['archived_at', '-created_at', 'id', 'state', 'forked_from', 'project'], name='runs_as_listed'),
        ),
        migrations.AddConstraint(
            model_name='checkpoint',
            constraint=models.UniqueConstraint(fields=('run', 'path'), name='one_row_per_checkpoint'),
        ),
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(fields=['run', 'step'], name='runs_alert_run_id_3a49f8_idx'),
        ),
        migrations.AddConstraint(
            model_name='alert',
            constraint=models.UniqueConstraint(fields=('run', 'seq'), name='one_row_per_alert'),
        ),
        migrations.AddConstraint(
            model_name='metricname',
            constraint=models.UniqueConstraint(fields=('run', 'name'), name='one_row_per_metric'),
        ),
        migrations.AddConstraint(
            model_name='recordproblem',
            constraint=models.UniqueConstraint(fields=('run', 'kind', 'offset'), name='one_row_per_record_problem'),
        ),
        migrations.AddIndex(
            model_name='runevent',
            index=models.Index(fields=['run', 'kind', 'seq'], name='runs_runeve_run_id_d27524_idx'),
        ),
        migrations.AddConstraint(
            model_name='runevent',
            constraint=models.UniqueConstraint(fields=('run', 'seq'), name='one_row_per_event'),
        ),
        migrations.AddIndex(
            model_name='runtag',
            index=models.Index(fields=['name'], name='runs_runtag_name_58d460_idx'),
        ),
        migrations.AddConstraint(
            model_name='runtag',
            constraint=models.UniqueConstraint(fields=('run', 'name'), name='one_row_per_tag'),
        ),
        migrations.AddConstraint(
            model_name='stepgroups',
            constraint=models.UniqueConstraint(fields=('run', 'step'), name='one_row_of_groups_per_step'),
        ),
        migrations.AddIndex(
            model_name='stepmetrics',
            index=models.Index(fields=['run', 'seq'], name='runs_stepme_run_id_fe0a90_idx'),
        ),
        migrations.AddConstraint(
            model_name='stepmetrics',
            constraint=models.UniqueConstraint(fields=('run', 'step'), name='one_row_per_step'),
        ),
    ]
