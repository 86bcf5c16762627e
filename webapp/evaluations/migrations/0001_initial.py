import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('runs', '0001_initial'),
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
                ('solved', models.BinaryField(default=bytes)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='evaluations', to='runs.run')),
                ('problem_list', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='evaluations', to='evaluations.problemlist')),
            ],
            options={
                'ordering': ['step'],
                'constraints': [models.UniqueConstraint(fields=('run', 'step', 'environment', 'final'), name='one_row_per_evaluation')],
            },
        ),
    ]
