from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("environments", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="environmentversion",
            name="facts",
            field=models.JSONField(blank=True, default=dict),
        ),
    ]
