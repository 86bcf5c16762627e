import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('projects', '0001_initial'),
        ('runs', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='AuditEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(blank=True, default='', max_length=20)),
                ('object_id', models.CharField(blank=True, default='', max_length=20)),
                ('object_name', models.CharField(blank=True, default='', max_length=150)),
                ('who', models.CharField(max_length=150)),
                ('token', models.CharField(blank=True, default='', max_length=60)),
                ('action', models.CharField(max_length=30)),
                ('detail', models.JSONField(default=dict)),
                ('outcome', models.CharField(choices=[('done', 'done'), ('refused', 'refused')], default='done', max_length=7)),
                ('time', models.DateTimeField(default=django.utils.timezone.now)),
                ('project', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='audit', to='projects.project')),
                ('run', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='audit', to='runs.run')),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-time', '-pk'],
                'indexes': [models.Index(fields=['run', '-time'], name='audit_audit_run_id_65f67e_idx'), models.Index(fields=['kind', 'object_id', '-time'], name='audit_audit_kind_11a0b3_idx'), models.Index(fields=['project', '-time'], name='audit_audit_project_b98c32_idx')],
            },
        ),
    ]
