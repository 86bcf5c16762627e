import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='lines_refused',
            field=models.PositiveIntegerField(default=0),
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
                'constraints': [models.UniqueConstraint(fields=('run', 'kind', 'offset'), name='one_row_per_record_problem')],
            },
        ),
    ]
