import django.db.models.deletion
import django.utils.timezone
import webapp.projects.models
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('projects', '0001_initial'),
        ('runs', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Suite',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.SlugField(max_length=60, unique=True)),
                ('built_in', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('archived_at', models.DateTimeField(blank=True, null=True)),
                ('owner', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='suites', to='projects.project')),
            ],
            options={
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='SuiteVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField(default=1)),
                ('document', models.JSONField()),
                ('definition', models.TextField(blank=True, default='')),
                ('key', models.CharField(db_index=True, max_length=64)),
                ('frozen_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('suite', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='suites.suite')),
            ],
            options={
                'ordering': ['suite__name', '-number'],
                'constraints': [models.UniqueConstraint(fields=('suite', 'number'), name='one_row_per_suite_version')],
            },
        ),
        migrations.CreateModel(
            name='SuiteEvaluation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('finished', 'Finished'), ('stopped', 'Stopped'), ('refused', 'Refused'), ('failed', 'Failed')], default='queued', max_length=10)),
                ('stop_requested', models.BooleanField(default=False)),
                ('message', models.TextField(blank=True, default='')),
                ('process', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('samples', models.PositiveIntegerField(blank=True, null=True)),
                ('key', models.CharField(max_length=64)),
                ('conditions', models.JSONField()),
                ('policy', models.CharField(choices=[('checkpoint', 'Checkpoint of a run'), ('directory', 'Model directory'), ('endpoint', 'Endpoint')], max_length=10)),
                ('model', models.CharField(max_length=500)),
                ('endpoint', models.CharField(blank=True, default='', max_length=500)),
                ('key_variable', models.CharField(blank=True, default='', max_length=100)),
                ('run_name', models.CharField(blank=True, default='', max_length=80)),
                ('step', models.PositiveIntegerField(blank=True, null=True)),
                ('training_seed', models.PositiveIntegerField(blank=True, null=True)),
                ('configuration', models.CharField(blank=True, default='', max_length=64)),
                ('weights', models.CharField(blank=True, default='', max_length=64)),
                ('again', models.BooleanField(default=False)),
                ('imported', models.BooleanField(default=False)),
                ('listed', models.BooleanField(default=False)),
                ('losses', models.PositiveSmallIntegerField(default=0)),
                ('versions', models.JSONField(default=dict)),
                ('planned', models.PositiveIntegerField(default=0)),
                ('played', models.PositiveIntegerField(default=0)),
                ('scored', models.PositiveIntegerField(default=0)),
                ('successes', models.PositiveIntegerField(default=0)),
                ('success', models.FloatField(null=True)),
                ('low', models.FloatField(null=True)),
                ('high', models.FloatField(null=True)),
                ('tokens', models.BigIntegerField(null=True)),
                ('turns', models.BigIntegerField(default=0)),
                ('seconds', models.FloatField(default=0.0)),
                ('owner', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(default=webapp.projects.models.default_project_id, on_delete=django.db.models.deletion.PROTECT, related_name='suite_evaluations', to='projects.project')),
                ('run', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='suite_evaluations', to='runs.run')),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='evaluations', to='suites.suiteversion')),
            ],
            options={
                'ordering': ['-pk'],
                'abstract': False,
                'indexes': [models.Index(fields=['state', 'created_at'], name='suite_evaluations_by_state'), models.Index(fields=['key', 'weights'], name='suite_evaluations_by_inputs'), models.Index(fields=['version', 'state', 'success'], name='suite_evaluations_ranked'), models.Index(condition=models.Q(('listed', False)), fields=['state', 'id'], name='suite_evaluations_to_list')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('state__in', ('queued', 'running')), models.Q(('weights', ''), _negated=True)), fields=('project', 'key', 'weights'), name='one_live_suite_evaluation')],
            },
        ),
        migrations.CreateModel(
            name='ItemResult',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('order', models.PositiveSmallIntegerField()),
                ('name', models.CharField(max_length=60)),
                ('problems', models.PositiveIntegerField()),
                ('samples', models.PositiveIntegerField()),
                ('planned', models.PositiveIntegerField()),
                ('played', models.PositiveIntegerField(default=0)),
                ('scored', models.PositiveIntegerField(default=0)),
                ('successes', models.PositiveIntegerField(default=0)),
                ('success', models.FloatField(null=True)),
                ('low', models.FloatField(null=True)),
                ('high', models.FloatField(null=True)),
                ('interval', models.CharField(blank=True, default='', max_length=100)),
                ('mean_return', models.FloatField(null=True)),
                ('return_low', models.FloatField(null=True)),
                ('return_high', models.FloatField(null=True)),
                ('mean_turns', models.FloatField(null=True)),
                ('turns', models.BigIntegerField(default=0)),
                ('actions', models.BigIntegerField(default=0)),
                ('tokens', models.BigIntegerField(null=True)),
                ('prompt_tokens', models.BigIntegerField(null=True)),
                ('responses', models.BigIntegerField(default=0)),
                ('malformed', models.BigIntegerField(default=0)),
                ('trained_on', models.PositiveIntegerField(null=True)),
                ('seconds', models.FloatField(default=0.0)),
                ('pass_at', models.JSONField(default=dict)),
                ('pass_all', models.JSONField(default=dict)),
                ('stops', models.JSONField(default=dict)),
                ('solved', models.BinaryField(default=bytes)),
                ('has_score', models.BinaryField(default=bytes)),
                ('evaluation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='items', to='suites.suiteevaluation')),
            ],
            options={
                'ordering': ['evaluation', 'order'],
                'constraints': [models.UniqueConstraint(fields=('evaluation', 'name'), name='one_row_per_suite_item')],
            },
        ),
    ]
