from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='alert',
            name='fork_before',
            field=models.IntegerField(null=True),
        ),
    ]
