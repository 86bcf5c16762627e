import django.db.models.deletion
import webapp.projects.models
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('projects', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Report',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('title', models.CharField(max_length=120)),
                ('text', models.TextField(blank=True, default='')),
                ('version', models.PositiveIntegerField(default=1)),
                ('share_key', models.CharField(max_length=32, null=True, unique=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('owner', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='reports', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(default=webapp.projects.models.default_project_id, on_delete=django.db.models.deletion.PROTECT, related_name='reports', to='projects.project')),
            ],
            options={
                'ordering': ['-updated_at', '-pk'],
            },
        ),
    ]
