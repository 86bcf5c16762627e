import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('environments', '0001_initial'),
        ('runs', '0003_lineage'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='DeletedRun',
            fields=[
                ('id', models.CharField(max_length=10, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=80)),
                ('who', models.CharField(max_length=150)),
                ('freed', models.BigIntegerField()),
                ('time', models.DateTimeField(default=django.utils.timezone.now)),
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
            name='RunTag',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=40)),
            ],
            options={
                'ordering': ['name'],
            },
        ),
        migrations.AddField(
            model_name='metricname',
            name='highest',
            field=models.FloatField(null=True),
        ),
        migrations.AddField(
            model_name='metricname',
            name='last',
            field=models.FloatField(null=True),
        ),
        migrations.AddField(
            model_name='metricname',
            name='lowest',
            field=models.FloatField(null=True),
        ),
        migrations.AddField(
            model_name='run',
            name='notes',
            field=models.TextField(blank=True, default=''),
        ),
        migrations.AddField(
            model_name='run',
            name='project',
            field=models.CharField(blank=True, default='', max_length=80),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(fields=['archived_at', '-created_at', 'id', 'state', 'forked_from'], name='runs_as_listed'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(fields=['project'], name='runs_run_project_956c96_idx'),
        ),
        migrations.AddField(
            model_name='runtag',
            name='run',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tags', to='runs.run'),
        ),
        migrations.AddIndex(
            model_name='runtag',
            index=models.Index(fields=['name'], name='runs_runtag_name_58d460_idx'),
        ),
        migrations.AddConstraint(
            model_name='runtag',
            constraint=models.UniqueConstraint(fields=('run', 'name'), name='one_row_per_tag'),
        ),
    ]
