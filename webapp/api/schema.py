"""The OpenAPI 3.1 schema of the API. Events and configurations are described by the engine's own types."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import TypeAdapter

from engine.config import RunConfig
from engine.config.live import LIVE_FIELDS
from engine.events import Event
from engine.verdict.regimes import ENTROPY, REGIMES
from webapp.runs.priorities import NAMES as PRIORITIES
from webapp.runs.states import Request, RunState

Schema = dict[str, Any]
REFERENCE = "#/components/schemas/{model}"
NUMBER: Schema = {"type": "number"}
INTEGER: Schema = {"type": "integer"}
TEXT: Schema = {"type": "string"}
TEXTS: Schema = {"type": "array", "items": TEXT}


@cache
def openapi() -> Schema:
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Starboard",
            "version": "1",
            "description": "Access runs, their events and their metrics. Authenticate with the session cookie; POST "
            "requests also need the CSRF token in the header `X-CSRFToken`. Errors have a message in `error` and "
            "a fix in `remedy`.",
        },
        "paths": _paths(),
        "components": {"schemas": _schemas(), "securitySchemes": {"session": _cookie()}},
        "security": [{"session": []}],
    }


def _paths() -> Schema:
    run = {
        "name": "run_id",
        "in": "path",
        "required": True,
        "schema": TEXT,
        "description": "The ID of the run, as in the URL of its page.",
    }
    states = {"type": "string", "enum": RunState.values}
    listed = [
        _query("state", states, "Return only runs in this state."),
        _query("after", TEXT, "A cursor for pagination: the ID of the last run of the previous page."),
        _query("limit", INTEGER, "The maximum number of runs to return, from 1 to 500. Defaults to 50."),
        _query("project", TEXT, "Return only runs of this project. Pass an empty value for those without one."),
        _query("tag", TEXT, "Return only runs with this tag."),
        _query("archived", TEXT, "Pass `1` to return archived runs instead of active ones."),
    ]
    window = [
        _query("from", INTEGER, "The first step to return. Defaults to 0."),
        _query("to", INTEGER, "The last step to return. Defaults to the latest step."),
    ]
    keys = _query("keys", TEXT, "The names of up to 100 metrics, separated by commas.")
    return {
        "/api/v1/runs/": {"get": _operation("list_runs", "List runs, most recent first", "RunPage", listed)},
        "/api/v1/runs/{run_id}/": {
            "get": _operation("get_run", "Retrieve a run with its configuration", "RunDetail", [run])
        },
        "/api/v1/runs/{run_id}/verdict": {
            "get": _operation("get_verdict", "Retrieve the verdict on a run with its evidence", "Verdict", [run])
        },
        "/api/v1/runs/{run_id}/regimes": {
            "get": _operation(
                "get_regimes",
                "Retrieve the regime of each diagnosed step",
                "RegimeMap",
                [
                    run,
                    _query(
                        "per", {"type": "string", "enum": list(ENTROPY)}, "The unit of H(Z|X). Defaults to `thought`."
                    ),
                ],
            )
        },
        "/api/v1/runs/{run_id}/events": {
            "get": _operation(
                "list_events",
                "List the events of a run in order, exactly as the engine wrote them. To page through them, pass the "
                "`last_seq` of a response as the next `after`",
                "EventPage",
                [
                    run,
                    _query("after", INTEGER, "Return events whose `seq` is greater than this. Defaults to 0."),
                    _query("limit", INTEGER, "The maximum number of events, from 1 to 5,000. Defaults to 500."),
                ],
            )
        },
        "/api/v1/runs/{run_id}/metrics": {
            "get": _operation(
                "get_metrics",
                "Retrieve metrics as columns aligned with `steps`, downsampled to about `points` steps. Minima and "
                "maxima are preserved",
                "MetricSeries",
                [
                    run,
                    keys,
                    _query("points", INTEGER, "The approximate number of steps, up to 20,000. Defaults to 1,000."),
                    *window,
                ],
            )
        },
        "/api/v1/runs/{run_id}/bands": {
            "get": _operation(
                "get_bands",
                "Retrieve metrics aggregated over ranges of consecutive steps: the mean, minimum and maximum, and "
                "the steps of the extremes",
                "MetricBands",
                [
                    run,
                    keys,
                    _query(
                        "having",
                        TEXT,
                        "Only include steps with at least one of these metrics (comma-separated).",
                    ),
                    _query("buckets", INTEGER, "The maximum number of ranges, up to 5,000. Defaults to 600."),
                    *window,
                ],
            )
        },
        "/api/v1/runs/{run_id}/outline": {
            "get": _operation("get_outline", "Retrieve lifecycle events, times and metric names", "Outline", [run])
        },
        "/api/v1/runs/{run_id}/control": {"post": _control(run)},
        "/api/v1/runs/{run_id}/settings": {"post": _settings(run)},
        "/api/v1/runs/{run_id}/labels": {"post": _labels(run)},
        "/api/v1/openapi.json": {"get": _operation("get_openapi", "Retrieve this schema", "OpenApi", [])},
    }


def _operation(name: str, summary: str, answer: str, parameters: list[Schema]) -> Schema:
    return {
        "operationId": name,
        "summary": summary,
        "parameters": parameters,
        "responses": {"200": _json(answer, "The request succeeded."), **_problems("400", "401", "404")},
    }


def _control(run: Schema) -> Schema:
    operation = _operation("control_run", "Stop, pause, resume, checkpoint or archive a run", "Run", [run])
    operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": _ref("Control")}}}
    operation["responses"] |= _problems("403", "409")
    return operation


def _settings(run: Schema) -> Schema:
    summary = (
        "Change settings of a live run from its next step on. If `revision` is given and is no longer the run's "
        "current revision, nothing changes and the status is 409"
    )
    operation = _operation("change_settings", summary, "ChangedSettings", [run])
    operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": _ref("SettingsChange")}}}
    refused = _json("RefusedSettings", "The settings were not changed. `errors` has the reasons by field.")
    operation["responses"] |= _problems("403") | {"409": refused, "422": refused}
    return operation


def _labels(run: Schema) -> Schema:
    summary = "Set the project, the tags or the notes of a run. What is not given stays, and `tags` replaces all tags"
    operation = _operation("label_run", summary, "Run", [run])
    operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": _ref("Labels")}}}
    refused = _json("RefusedSettings", "Nothing was changed. `errors` has the reasons by field.")
    operation["responses"] |= _problems("403") | {"422": refused}
    return operation


def _schemas() -> Schema:
    events = TypeAdapter(Event).json_schema(ref_template=REFERENCE)
    config = RunConfig.model_json_schema(ref_template=REFERENCE)
    parts = {**events.pop("$defs", {}), **config.pop("$defs", {})}
    column = {"type": "array", "items": {"type": ["number", "null"]}}
    return {
        **parts,
        "Event": events,
        "RunConfig": config,
        "Run": _run(),
        "Fault": _object(
            dict.fromkeys(("attempt", "step", "restart", "budget", "fruitless"), INTEGER)
            | {"time": NUMBER, "reason": TEXT}
        ),
        "RunDetail": {
            "allOf": [
                _ref("Run"),
                _object(
                    {
                        "config": _ref("RunConfig"),
                        "status": _ref("Status"),
                        "verdict": _maybe("Verdict"),
                        "settings_history": {"type": "array", "items": _ref("ChangedSetting")},
                        "ancestors": {"type": "array", "items": _ref("Ancestor")},
                    }
                ),
            ]
        },
        "ChangedSetting": _object({"field": TEXT, "step": INTEGER, "old": {}, "new": {}}),
        "Ancestor": _object({"id": TEXT, "name": TEXT, "upto": INTEGER, "before": INTEGER}),
        "Status": _object(
            {**dict.fromkeys(("key", "label", "reason", "icon"), TEXT), "alert": {"type": ["integer", "null"]}}
        ),
        "Health": _object(dict.fromkeys(("label", "title", "level", "reason"), TEXT)),
        "RegimeMap": _object(
            {
                "borders": _maybe("RegimeBorders"),
                "steps": {"type": "array", "items": INTEGER},
                "regimes": {"type": "array", "items": {"type": "string", "enum": list(REGIMES)}},
                "format_broken": {"type": "array", "items": {"type": "boolean"}},
                "explanation": TEXT,
            }
        ),
        "RunPage": _object({"runs": {"type": "array", "items": _ref("Run")}, "more": {"type": "boolean"}}),
        "EventPage": _object(
            {"events": {"type": "array", "items": _ref("Event")}, "last_seq": INTEGER, "more": {"type": "boolean"}}
        ),
        "MetricSeries": _object(
            dict.fromkeys(("steps", "tokens", "seconds", "times"), column)
            | {"series": {"type": "object", "additionalProperties": column}, "last_seq": INTEGER}
        ),
        "MetricBands": _object(
            dict.fromkeys(("steps", "tokens", "seconds", "times", "elapsed", "attempts"), column)
            | {"thinned": {"type": "boolean"}, "last_seq": INTEGER}
            | {"spans": {"type": "array", "items": {"type": "array", "items": INTEGER}}}
            | {"series": {"type": "object", "additionalProperties": _ref("Band")}}
        ),
        "Band": _object(dict.fromkeys(("mean", "low", "high", "low_at", "high_at"), column)),
        "Outline": _object(
            {"events": {"type": "array", "items": {"type": "object"}}, "keys": {"type": "array", "items": TEXT}}
            | {"last_seq": INTEGER}
        ),
        "Control": _object(
            {"action": {"type": "string", "enum": ["stop", "pause", "resume", "checkpoint", "archive"]}}
        ),
        "Labels": {**_object({"project": TEXT, "tags": TEXTS, "notes": TEXT}), "required": [], "minProperties": 1},
        "SettingsChange": {
            **_object(
                {"changes": {"type": "object", "propertyNames": {"enum": list(LIVE_FIELDS)}}, "revision": INTEGER}
            ),
            "required": ["changes"],
        },
        "ChangedSettings": _object(
            {
                "changes": {"type": "object", "additionalProperties": _object({"old": {}, "new": {}})},
                "run": _ref("Run"),
            }
        ),
        "RefusedSettings": _object(
            {"error": TEXT, "remedy": TEXT, "errors": {"type": "object", "additionalProperties": TEXT}}
        ),
        "Problem": _object({"error": TEXT, "remedy": TEXT}),
        "OpenApi": {"type": "object"},
    }


def _run() -> Schema:
    maybe_text, maybe_number = {"type": ["string", "null"]}, {"type": ["number", "null"]}
    texts = (
        "id",
        "name",
        "shown_as",
        "label",
        "ended_by",
        "reason",
        "remedy",
        "wait_reason",
        "phase",
        "preset",
        "project",
        "notes",
        "created_at",
    )
    return _object(
        dict.fromkeys(texts, TEXT)
        | dict.fromkeys(("step", "total_steps", "tokens", "attempt", "restarts", "restart_budget", "last_seq"), INTEGER)
        | dict.fromkeys(("ancestor_steps", "lineage_step", "colour"), INTEGER)
        | dict.fromkeys(("started_at", "finished_at", "archived_at", "cloned_from", "forked_from"), maybe_text)
        | dict.fromkeys(("eta_seconds", "last_heartbeat_at"), maybe_number)
        | {"fork_step": {"type": ["integer", "null"]}}
        | {
            "tags": TEXTS,
            "seconds": NUMBER,
            "state": {"type": "string", "enum": RunState.values},
            "requested": {"type": "string", "enum": Request.values},
            "priority": {"type": "string", "enum": list(PRIORITIES)},
            "ended_by": TEXT,
            "health": _maybe("Health"),
            "metrics": {"type": "object"},
            "stop_proof": {"type": "object"},
            "settings": _object({"revision": INTEGER, "changes": {"type": "object"}}),
            "faults": {"type": "array", "items": _ref("Fault")},
        }
    )


def _object(properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": sorted(properties)}


def _query(name: str, schema: Schema, description: str) -> Schema:
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": description}


def _json(model: str, description: str) -> Schema:
    return {"description": description, "content": {"application/json": {"schema": _ref(model)}}}


def _problems(*statuses: str) -> Schema:
    return {
        status: _json("Problem", "The request failed. `error` says why and `remedy` how to fix it.")
        for status in statuses
    }


def _maybe(model: str) -> Schema:
    return {"anyOf": [_ref(model), {"type": "null"}]}


def _ref(model: str) -> Schema:
    return {"$ref": REFERENCE.format(model=model)}


def _cookie() -> Schema:
    return {"type": "apiKey", "in": "cookie", "name": "starboard_session_<port>"}
