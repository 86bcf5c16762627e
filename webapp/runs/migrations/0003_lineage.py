import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0002_alert_fork_before'),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='ancestor_steps',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='run',
            name='colour',
            field=models.PositiveSmallIntegerField(default=1),
        ),
        migrations.AddField(
            model_name='run',
            name='fork_step',
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='run',
            name='forked_from',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='forks', to='runs.run'),
        ),
    ]
