import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('runs', '0001_initial'),
        ('suites', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Entry',
            fields=[
                ('evaluation', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='entry', serialize=False, to='suites.suiteevaluation')),
                ('suite_version', models.PositiveIntegerField()),
                ('key', models.CharField(max_length=64)),
                ('name', models.CharField(max_length=200)),
                ('text', models.TextField()),
                ('policy', models.CharField(choices=[('checkpoint', 'Checkpoint of a run'), ('directory', 'Model directory'), ('endpoint', 'Endpoint')], max_length=10)),
                ('preset', models.CharField(blank=True, default='', max_length=60)),
                ('model', models.CharField(blank=True, default='', max_length=200)),
                ('run_name', models.CharField(blank=True, default='', max_length=80)),
                ('step', models.PositiveIntegerField(null=True)),
                ('training_seed', models.PositiveIntegerField(null=True)),
                ('configuration', models.CharField(blank=True, default='', max_length=64)),
                ('ended_at', models.DateTimeField(null=True)),
                ('problems', models.PositiveIntegerField()),
                ('samples', models.PositiveIntegerField()),
                ('planned', models.PositiveIntegerField()),
                ('scored', models.PositiveIntegerField()),
                ('success', models.FloatField()),
                ('low', models.FloatField()),
                ('high', models.FloatField()),
                ('mean_return', models.FloatField(null=True)),
                ('turns', models.FloatField(null=True)),
                ('tokens', models.FloatField(null=True)),
                ('well_formed', models.FloatField(null=True)),
                ('pass_at', models.FloatField(null=True)),
                ('pass_all', models.FloatField(null=True)),
                ('measures', models.JSONField(default=dict)),
                ('seen', models.FloatField(null=True)),
                ('updates', models.PositiveIntegerField(null=True)),
                ('environment_turns', models.BigIntegerField(null=True)),
                ('generated_tokens', models.BigIntegerField(null=True)),
                ('device_hours', models.FloatField(null=True)),
                ('device', models.CharField(blank=True, default='', max_length=10)),
                ('half_updates', models.PositiveIntegerField(null=True)),
                ('half_hours', models.FloatField(null=True)),
                ('half_known', models.BooleanField(default=False)),
                ('run', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='leaderboard_entries', to='runs.run')),
                ('suite', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='entries', to='suites.suite')),
            ],
            options={
                'verbose_name_plural': 'entries',
                'ordering': ['-success', 'evaluation'],
                'indexes': [models.Index(fields=['suite', 'key', '-success', 'evaluation', 'suite_version'], name='leaderboard_suite_i_98fd8a_idx'), models.Index(fields=['run', 'key'], name='leaderboard_run_id_25f49d_idx'), models.Index(fields=['suite', 'key', 'evaluation', 'device', 'device_hours', 'updates', 'environment_turns', 'generated_tokens'], name='leaderboard_entry_costs')],
            },
        ),
        migrations.CreateModel(
            name='ProblemTotals',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('order', models.PositiveSmallIntegerField()),
                ('sums', models.BinaryField()),
                ('entry', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='problem_totals', to='leaderboard.entry')),
            ],
            options={
                'verbose_name_plural': 'problem totals',
                'ordering': ['entry', 'order'],
                'constraints': [models.UniqueConstraint(fields=('entry', 'order'), name='one_row_per_item_of_entry')],
            },
        ),
        migrations.CreateModel(
            name='PublicLink',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('query', models.TextField(blank=True, default='')),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('shown_as', models.CharField(max_length=12)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='leaderboard_links', to=settings.AUTH_USER_MODEL)),
                ('suite', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='public_links', to='suites.suite')),
            ],
            options={
                'ordering': ['-created_at', '-pk'],
            },
        ),
    ]
