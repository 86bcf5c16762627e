import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('evaluations', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='ProblemList',
            fields=[
                ('id', models.CharField(max_length=32, primary_key=True, serialize=False)),
                ('problems', models.BinaryField()),
            ],
        ),
        migrations.AddField(
            model_name='evaluation',
            name='solved',
            field=models.BinaryField(default=bytes),
        ),
        migrations.AddField(
            model_name='evaluation',
            name='problem_list',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='evaluations', to='evaluations.problemlist'),
        ),
    ]
