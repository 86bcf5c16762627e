import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('runs', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Trajectory',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('step', models.PositiveIntegerField()),
                ('split', models.CharField(max_length=10)),
                ('environment', models.CharField(max_length=60)),
                ('kind', models.CharField(max_length=40)),
                ('group', models.PositiveIntegerField()),
                ('member', models.PositiveIntegerField()),
                ('seed', models.BigIntegerField()),
                ('success', models.BooleanField()),
                ('episode_return', models.FloatField()),
                ('score', models.FloatField()),
                ('advantage', models.FloatField(null=True)),
                ('group_std', models.FloatField(null=True)),
                ('kept', models.BooleanField(null=True)),
                ('turns', models.PositiveIntegerField()),
                ('response_tokens', models.PositiveIntegerField()),
                ('parse_failures', models.PositiveIntegerField()),
                ('faults', models.CharField(blank=True, default='', max_length=160)),
                ('surplus', models.PositiveIntegerField(db_default=0, default=0)),
                ('stop', models.CharField(max_length=20)),
                ('reason', models.CharField(default='all', max_length=14)),
                ('removed', models.BooleanField(default=False)),
                ('attempt', models.PositiveIntegerField(default=1)),
                ('superseded', models.BooleanField(default=False)),
                ('file', models.CharField(max_length=200)),
                ('offset', models.BigIntegerField()),
                ('length', models.IntegerField()),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='trajectories', to='runs.run')),
            ],
            options={
                'verbose_name_plural': 'trajectories',
                'ordering': ['-step', 'split', 'group', 'member'],
                'indexes': [models.Index(models.F('run'), models.Func(models.F('episode_return'), output_field=models.FloatField(), template='COALESCE(%(expressions)s, -2e+300)'), models.F('id'), condition=models.Q(('superseded', False)), name='trajectories_run_return'), models.Index(models.F('run'), models.Func(models.F('advantage'), output_field=models.FloatField(), template='COALESCE(%(expressions)s, -2e+300)'), models.F('id'), condition=models.Q(('superseded', False)), name='trajectories_run_advantage'), models.Index(models.F('run'), models.Func(models.F('group_std'), output_field=models.FloatField(), template='COALESCE(%(expressions)s, -2e+300)'), models.F('id'), condition=models.Q(('superseded', False)), name='trajectories_run_reward_std'), models.Index(models.F('run'), models.Func(models.F('turns'), output_field=models.FloatField(), template='COALESCE(%(expressions)s, -2e+300)'), models.F('id'), condition=models.Q(('superseded', False)), name='trajectories_run_turns'), models.Index(models.F('run'), models.Func(models.F('response_tokens'), output_field=models.FloatField(), template='COALESCE(%(expressions)s, -2e+300)'), models.F('id'), condition=models.Q(('superseded', False)), name='trajectories_run_tokens'), models.Index(models.F('run'), models.Func(models.F('parse_failures'), output_field=models.FloatField(), template='COALESCE(%(expressions)s, -2e+300)'), models.F('id'), condition=models.Q(('superseded', False)), name='trajectories_run_malformed'), models.Index(fields=['run', '-step'], name='trajectorie_run_id_cc015e_idx'), models.Index(fields=['run', 'success', '-step'], name='trajectorie_run_id_f34fad_idx'), models.Index(fields=['run', 'kept', '-step'], name='trajectorie_run_id_938fd2_idx'), models.Index(fields=['run', 'seed', 'step'], name='trajectorie_run_id_eab710_idx'), models.Index(condition=models.Q(('superseded', False)), fields=['run', 'environment', 'split', 'stop', 'step'], name='trajectories_facets'), models.Index(fields=['run', 'id'], name='trajectorie_run_id_30664c_idx'), models.Index(fields=['step', 'id'], name='trajectorie_step_ab6ba5_idx'), models.Index(fields=['environment', 'id'], name='trajectorie_environ_28b912_idx'), models.Index(fields=['seed', 'id'], name='trajectorie_seed_a6b2ba_idx'), models.Index(fields=['episode_return', 'id'], name='trajectorie_episode_bcce54_idx'), models.Index(fields=['turns', 'id'], name='trajectorie_turns_cbe3d0_idx'), models.Index(fields=['response_tokens', 'id'], name='trajectorie_respons_be4a41_idx'), models.Index(fields=['parse_failures', 'id'], name='trajectorie_parse_f_00ede7_idx'), models.Index(fields=['stop', 'id'], name='trajectorie_stop_a4d6df_idx'), models.Index(models.Func(models.F('success'), output_field=models.IntegerField(), template='COALESCE(CAST(%(expressions)s AS integer), -1)'), models.F('id'), name='trajectories_by_success'), models.Index(models.Func(models.F('kept'), output_field=models.IntegerField(), template='COALESCE(CAST(%(expressions)s AS integer), -1)'), models.F('id'), name='trajectories_by_kept'), models.Index(models.Func(models.F('advantage'), output_field=models.FloatField(), template='COALESCE(%(expressions)s, -1e+300)'), models.F('id'), name='trajectories_by_advantage'), models.Index(models.Func(models.F('group_std'), output_field=models.FloatField(), template='COALESCE(%(expressions)s, -1e+300)'), models.F('id'), name='trajectories_by_reward_std'), models.Index(condition=models.Q(('faults__gt', '')), fields=['id'], name='trajectories_with_faults'), models.Index(condition=models.Q(('surplus__gt', 0)), fields=['id'], name='trajectories_with_surplus'), models.Index(condition=models.Q(('superseded', True)), fields=['run', 'attempt', 'step'], name='trajectories_superseded'), models.Index(condition=models.Q(('removed', True)), fields=['run', 'step'], name='trajectories_removed')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('superseded', False)), fields=('run', 'split', 'step', 'environment', 'group', 'member'), name='one_row_per_trajectory')],
            },
        ),
        migrations.CreateModel(
            name='LostTrajectory',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('step', models.PositiveIntegerField()),
                ('split', models.CharField(max_length=10)),
                ('file', models.CharField(max_length=200)),
                ('offset', models.BigIntegerField(default=0)),
                ('count', models.PositiveIntegerField(default=1)),
                ('environment', models.CharField(blank=True, default='', max_length=60)),
                ('group', models.PositiveIntegerField(null=True)),
                ('member', models.PositiveIntegerField(null=True)),
                ('seed', models.BigIntegerField(null=True)),
                ('why', models.TextField()),
                ('remedy', models.TextField()),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='lost_trajectories', to='runs.run')),
            ],
            options={
                'verbose_name_plural': 'lost trajectories',
                'ordering': ['-step', 'split', 'environment', 'group', 'member'],
                'indexes': [models.Index(fields=['run', '-step'], name='trajectorie_run_id_079a21_idx')],
            },
        ),
        migrations.CreateModel(
            name='TrajectoryText',
            fields=[
                ('trajectory', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='text', serialize=False, to='trajectories.trajectory')),
                ('thoughts', models.TextField()),
                ('actions', models.TextField()),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='runs.run')),
            ],
        ),
    ]
