// What the browser's modules share: events of a run, answers of the server, positions and points of curves, and the few
// functions of Plotly that are called. Types alone: nothing of this file is loaded by a page.

import type { Curves } from "./charts/curves.js";
import type { ForkPoint, Lineage } from "./charts/lineage.js";
import type { RunStore } from "./run/store.js";
import type { RunView } from "./run/view_state.js";

// Events of a run, as the engine emits them (engine/events)

interface EventBase {
  seq: number;
  time: number; // unix seconds by the engine's clock
}

export type Metrics = Record<string, number>;

export interface RunStarted extends EventBase {
  kind: "run_started";
  attempt: number;
  resumed_from?: number | null;
  start?: string;
}

export interface StepCompleted extends EventBase {
  kind: "step_completed";
  step: number;
  tokens: number;
  seconds: number;
  attempt: number;
  metrics: Metrics;
  skipped?: string;
}

interface HeldOutNumbers extends EventBase {
  step: number;
  environment: string;
  success: number;
  low: number;
  high: number;
  episodes: number;
  trained_on?: number;
}

export interface EvaluationCompleted extends HeldOutNumbers {
  kind: "evaluation_completed";
}

export interface CheckpointEvaluated extends HeldOutNumbers {
  kind: "checkpoint_evaluated";
}

export type HeldOutResult = EvaluationCompleted | CheckpointEvaluated;

export interface PhaseChanged extends EventBase {
  kind: "phase_changed";
  phase: string;
}

export interface AlertRaised extends EventBase {
  kind: "alert_raised";
  step: number;
  severity: string;
  rule: string;
  metric: string;
  message: string;
  action?: string;
  since?: number | null;
  fork_before?: number | null;
}

export type Setting = string | number | boolean | null | unknown[] | FilterChoice;

export interface SettingsChanged extends EventBase {
  kind: "settings_changed";
  step: number;
  revision: number;
  changes: Record<string, { old: Setting; new: Setting }>;
  refused?: string;
}

export interface CheckpointSaved extends EventBase {
  kind: "checkpoint_saved";
  step: number;
  path: string;
  bytes: number;
  reason: string;
  kept?: number[];
  best?: number | null;
}

export interface TrajectoriesRecorded extends EventBase {
  kind: "trajectories_recorded";
  split: string;
}

export interface RunFinished extends EventBase {
  kind: "run_finished";
  fork_before?: number | null;
}

export interface RunFailed extends EventBase {
  kind: "run_failed";
}

export type RunEvent =
  | RunStarted
  | StepCompleted
  | EvaluationCompleted
  | CheckpointEvaluated
  | PhaseChanged
  | AlertRaised
  | SettingsChanged
  | CheckpointSaved
  | TrajectoriesRecorded
  | RunFinished
  | RunFailed;

// Events of a what-if request

export interface WhatIfTurn {
  prompt?: string;
  response?: string;
  executed?: string[];
  reward?: number;
  parse?: string;
  frames?: Frame[];
  done?: boolean;
}

export type WhatIfEvent = { seq: number } & (
  | { kind: "loading"; device: string }
  | { kind: "replayed" }
  | { kind: "prompt"; turn: number; text: string }
  | { kind: "text"; turn: number; text: string }
  | ({ kind: "turn"; turn: number; time: number } & WhatIfTurn)
);

export interface WhatIfState {
  state: string;
  label: string;
  live: boolean;
  message: string;
  remedy: string;
}

// The socket

export type ConnectionState = "live" | "catching-up" | "polling" | "stale";

export interface Pong {
  kind: "pong";
  time: number;
  server_time: number;
}

export interface SocketUpdate<E = RunEvent, S = RunState> {
  kind: "hello" | "events" | "state";
  state?: S;
  events?: E[];
}

// Answers of the server about a run

export interface SettingsState {
  revision: number;
  changes: Record<string, Setting>;
}

export interface Fault {
  time: number;
  reason: string;
  step: number;
  attempt: number;
  restart: number | null;
  budget: number;
}

/** What heads a run's page: a state of its life cycle, or the verdict. */
export interface Status {
  key: string;
  icon: string;
  label: string;
  reason: string;
  summary: string; // of a verdict, the numbers beside its reason
  alert: number | null; // `seq` of the alert that the verdict stands on
}

/** The verdict in short. */
export interface Health {
  label: string;
  title: string;
  level: string;
  reason: string;
}

// The verdict, as `engine.verdict.types` describes it

export interface Evidence {
  metric: string;
  title: string;
  first: number;
  now: number;
  best: number;
  low: number | null;
  high: number | null;
  limit: string;
}

export interface FormatChange {
  key: string;
  metric: string;
  title: string;
  unit: "tokens" | "share" | "turns";
  step: number;
  baseline: number;
  value: number;
  now: number;
  holds: boolean;
  main_case: string;
}

export interface Verdict {
  label: string;
  title: string;
  level: string;
  reason: string;
  summary: string;
  step: number;
  since: number;
  evidence: Evidence[];
  format_changes: FormatChange[];
  format_summary: string;
  rules_version: number;
}

export interface RegimeBorders {
  entropy: number;
  blow_up: number;
  mutual_information: number;
  valid_thoughts: number | null;
}

/** Columns of equal length: every diagnosed step of a run. */
export interface RegimeColumns {
  borders: RegimeBorders | null;
  steps: number[];
  regimes: string[];
  format_broken: boolean[];
  explanation: string;
}

export interface RegimeText {
  title: string;
  description: string;
}

export interface RunState {
  id: string;
  name: string;
  state: string;
  shown_as: string;
  label: string;
  ended_by: string; // the alert rule that ended it, if one did
  health: Health | null;
  reason: string;
  remedy: string;
  wait_reason: string;
  queue?: { words: (string | { run: string; name: string })[]; position: number; length: number } | null;
  requested: string;
  unheld: boolean; // no worker supervises it, and its engine goes on
  step: number;
  total_steps: number;
  ancestor_steps: number;
  seconds: number;
  attempt: number;
  restarts: number;
  restart_budget: number;
  faults: Fault[];
  stop_proof: { proven?: boolean; gpus?: string; cluster?: string; time?: number } | null;
  settings: SettingsState;
  settings_by?: Askers;
  audited?: number;
  evaluation_requests?: EvaluationRequest[];
  usage?: { text: string };
  status?: Status;
  verdict?: Verdict | null;
}

/** A requested evaluation of the checkpoint of a step that is in progress, or has failed. */
export interface EvaluationRequest {
  step: number;
  state: "queued" | "running" | "failed";
  message: string;
  stopping: boolean;
}

/** A part of an engine's log between two byte offsets. */
export interface LogPiece {
  text: string;
  start: number;
  end: number;
}

/** By revision of the settings, the names of those who requested it. */
export type Askers = Record<string, string | string[]>;

export interface Outline {
  events: RunEvent[];
  keys: string[];
  last_seq: number;
}

export interface EventPage {
  events: RunEvent[];
  more: boolean;
}

/** One metric of `Bands`; `low` and so on are empty where no bucket holds more than one step. */
export interface Band {
  mean: (number | null)[];
  low: (number | null)[];
  high: (number | null)[];
  low_at?: (number | null)[];
  high_at?: (number | null)[];
}

/** Curves in buckets, as `webapp.live.bands` describes them. A span is first step, last step, and distance. */
export interface Bands {
  steps: number[];
  tokens: number[];
  seconds: number[];
  times: number[];
  elapsed: number[];
  attempts: number[];
  thinned: boolean;
  spans: [number, number, number][];
  series: Record<string, Band>;
  last_seq?: number;
}

/** What an answer to a form is: errors by field, or what the endpoint returns. */
export interface FormAnswer {
  ok?: boolean;
  errors?: Record<string, string | string[]>;
}

export interface Facts {
  think: boolean;
  groups: number;
  groupSize: number;
  every: number;
  gradientsEvery: number;
  templateSimilarity: number;
  entropyCoefficient: number;
  klCoefficient: number;
  filter: FilterChoice;
  environments: { tag: string; maxTurns: number; maxResponseTokens: number }[];
}

// Groups of a step and filters

/** A filter's type, and those of its settings that it has. */
export interface FilterChoice {
  type: string;
  mode?: string;
  value?: number;
  largest?: boolean;
  include_zero?: boolean;
  metric?: string;
}

export interface Group {
  group: number;
  environment: string;
  seed: number;
  returns: (number | null)[];
  std: number | null;
  score: number | null;
  kept: boolean;
  trajectories: (number | null)[];
}

export interface StepGroups {
  step: number | null;
  groups: Group[];
  kept: number[];
  threshold: number | null;
  own: FilterChoice;
}

export interface FilterPreviewAnswer {
  step: number;
  choice: FilterChoice;
  kept: number[];
  threshold: number | null;
  shares: { steps: number[]; kept: number[]; chosen: number[]; every: number };
}

// Reasoning templates

export interface TemplateCounts {
  step: number;
  seq?: string;
  thoughts: number;
  counts: Record<string, [number, number]>;
}

export interface TemplateUse {
  prompt: number;
  count: number;
  member: number;
}

export interface Template {
  key: string;
  text: string;
  count: number;
  prompts: number;
  wordings: number;
  example: { group: number; member: number; turn: number };
  used_on: TemplateUse[];
}

export interface TemplatePrompt {
  environment: string;
  seed: number;
  group: number;
  turn: number;
  state: string;
}

export interface StepTemplates {
  step: number | null;
  thoughts: number;
  prompts: TemplatePrompt[];
  templates: Template[];
  trajectories: Record<string, number>;
}

// Metrics and charts

/** An entry of the engine's glossary (engine/metrics.py). */
export interface Metric {
  name: string;
  title: string;
  meaning: string;
  section: string;
  formula?: string;
  unit?: string;
  bad?: string;
  low?: number | null;
  high?: number | null;
  log?: boolean;
}

export type Axis = "step" | "lineage" | "tokens" | "seconds" | "elapsed" | "time";
export type Window = [from: number, to: number];

/** A step on every axis. `first` is the first step of the range that it stands for in a thinned curve. */
export interface Position {
  step: number;
  lineage?: number; // with the steps of the run's ancestors
  tokens: number;
  seconds: number;
  elapsed: number;
  time: number;
  attempt?: number;
  first?: number;
}

/** A value at a position; of a range of steps the mean, with the extremes and the steps that had them. */
export interface Point extends Position {
  y: number;
  of?: string; // the ancestor whose point it is
  low?: number | null;
  high?: number | null;
  lowAt?: number | null;
  highAt?: number | null;
}

/** A window of steps of a thinned curve, requested at full resolution. */
export interface Detail {
  from: number;
  to: number;
  points: Point[] | null;
  asking?: boolean;
}

/** A metric's curve as far as it is known; `positions` are shared by the curves that came in one answer. */
export interface Curve {
  points: Point[] | null;
  positions: Position[];
  spans: [first: number, last: number, distance: number][];
  seq: number; // the newest event that the answer knew of
  thinned: boolean;
  detail: Detail | null;
  revision: number;
  stale: boolean;
  asking: boolean;
}

/** A point of a small chart. */
export type StepPoint = Pick<Point, "step" | "y" | "first" | "low" | "high">;

/** A step with its metrics; `first` as in a position, `seq` changes when the step is trained again. */
export interface StepRow {
  step: number;
  metrics: Metrics;
  first?: number;
  seq?: string;
  attempt?: number;
}

export interface Ends {
  first: number;
  last: number;
  steps: number;
}

/** How the reader looks at charts. */
export type View = Pick<
  RunView,
  | "axis"
  | "smoothing"
  | "outliers"
  | "window"
  | "revision"
  | "zooms"
  | "theme"
  | "step"
  | "scales"
  | "turnLog"
  | "range"
>;

/** Lines and signs over a chart, as Plotly takes them. */
export interface Marks {
  shapes: Record<string, unknown>[];
  annotations: Record<string, unknown>[];
}

/** What marks are made from. */
export interface MarkSource {
  store: Pick<ChartStore, "alerts" | "settings" | "requestedBy" | "forks"> & {
    curves: Pick<ChartCurves, "position">;
  };
  view: Pick<View, "axis">;
  css: Css;
}

/** The run that a fork descends from by its checkpoint of step `upto`; `before` are the steps of its own ancestors. */
export interface Ancestor {
  id: string;
  name: string;
  upto: number;
  before: number;
}

export interface LineageFacts {
  before: number;
  ancestors: Ancestor[];
}

/** What charts ask of curves; of several runs, `CurvesOfRuns` answers for all. */
export type ChartCurves = Pick<
  Curves,
  "want" | "zoom" | "isLoaded" | "revisionOf" | "points" | "position" | "ends" | "isSparse"
>;

export interface ChartStore {
  curves: ChartCurves;
  evaluations: EvaluationCompleted[];
  requestedEvaluations: CheckpointEvaluated[]; // the newest of each step and environment
  alerts: AlertRaised[];
  settings: SettingsChanged[];
  requestedBy: Askers;
  lineage?: Lineage; // of a single run
  forks?: ForkPoint[];
}

/** What is drawn: a run's store and how the reader looks at it; `mark` is a step that has a line. */
export interface ChartPage {
  store: ChartStore;
  view: View;
  mark?: number | null;
}

/** What a view of the run page is drawn with. */
export interface RunPage {
  store: RunStore;
  view: RunView;
  state: RunState;
}

/** The store of a view that reads whole curves: see run/tabs/full_history.js. */
export type HistoryStore = Omit<RunStore, "steps"> & {
  steps: (StepRow & { seq: string })[];
  everyStep: number[];
  last: number;
  points(name: string): Point[];
};

export interface HistoryPage {
  store: HistoryStore;
  view: RunView;
  state: RunState;
}

/** A view of the run page: drawn when it is in view; receives every new event. */
export interface Tab {
  draw(page: RunPage): void | Promise<void>;
  shown?(on: boolean): void;
  receive?(events: RunEvent[]): void;
}

export interface HistoryTab {
  draw(page: HistoryPage): void | Promise<void>;
  shown?(on: boolean): void;
  receive?(events: RunEvent[]): void;
}

/** A chart of a preset or layout; `log` is null where the axis is the metrics' own. */
export interface ChartChoice {
  title: string;
  names: string[];
  log?: boolean | null;
}

export interface Preset {
  key: string;
  title: string;
  answers?: string;
  charts: ChartChoice[];
  mine?: boolean;
  owner?: string;
}

export interface ChartSpec {
  title?: string;
  names: string[];
  range?: [number, number];
  fromZero?: boolean;
  include?: number[];
  log?: boolean;
  heldOut?: string[];
  whyEmpty?: string;
}

export interface ChartHost {
  onPoint(point: Pick<Point, "step"> & Partial<Point>): void;
  onZoom(range: (number | string)[]): void;
  onReset(): void;
  onStretch?(): void; // the vertical axis alone
  onHover(position: Position | null): void;
  onAlert(seq: number): void;
  valuesAddress: string;
  fileStem: string;
}

export type Css = (name: string) => string;

export interface AxisCut {
  range: [number, number];
  outside: number;
  reach: number;
}

/** A line of a small chart. */
export interface Series {
  name: string | HTMLElement;
  kind: string;
  points: StepPoint[];
  dots?: boolean;
}

export interface SmallChartContent {
  series: Series[];
  domain: [number, number];
  mark?: number | null;
  whyEmpty?: string;
}

// Trajectories

export interface Frame {
  action: string;
  effective: boolean;
  reward: number;
  drawing: Drawing;
  observation?: string;
}

export interface Message {
  role: string;
  content: string;
}

export interface Turn {
  prompt: string;
  response: string;
  thought: string;
  parse: string;
  cut?: "" | "turn" | "trajectory"; // not in records of imported rollouts
  parsed: string[];
  surplus: number;
  executed: string[];
  frames: Frame[];
  reward: number;
  penalty: number;
  return_to_go: number;
  advantage: number | null;
  entropy: number | null;
  logprob: number;
  prompt_start: number;
  response_start: number;
  response_end: number;
  messages: Message[];
}

export interface Tokens {
  ids: number[];
  text: string[];
  sampled: number[];
  masked: [start: number, end: number][];
  logprobs: number[];
  entropies: number[] | null;
  advantages: number[] | null;
}

export interface TrajectoryRecord {
  turns: Turn[];
  tokens: Tokens;
  initial: { drawing: Drawing; observation?: string };
  success: boolean;
  return: number;
  stop: string;
  fault: string | null;
  group_std: number | null;
  optimal_length: number | null;
}

export interface Problem {
  message: string;
  remedy: string;
}

export type Shade = "advantage" | "entropy" | "probability" | "mask";

export interface TokenChoice {
  shade: Shade | "";
  token: number | null;
}

// Drawings of an environment's state, which may be anybody's: every field is checked before it is drawn

export type Cell = [row: number, column: number];

export interface Drawing {
  type: string;
  rows?: number | string[][];
  columns?: number | string[];
  cells?: string[][];
  agent?: Cell;
  agent_state?: string;
  arms?: { name: string; pulled?: boolean; reward?: number }[];
  text?: string;
  caption?: string;
  marks?: [row: number, column: number, mark: string][];
  boxes?: number[];
  cards?: Card[];
  title?: string;
  blocks?: Block[];
}

export interface Card {
  title: string;
  text: string;
  state: string;
}

export interface Block {
  kind: string;
  text: string | string[];
  state?: string;
}

// Environments' previews and episodes played by hand

export interface PreviewState {
  seed: number;
  solution: "known" | "unknown" | "impossible";
  optimal_length: number | null;
  drawing: Drawing;
}

/** What a worker has measured of an environment so far. */
export interface Facts {
  drawing?: Drawing | null;
  baselines?: Baseline[];
  problem?: string;
}

export interface Baseline {
  player: string;
  success: number;
  episodes: number;
  mean_return: number;
}

// The pre-flight of an environment (engine/preflight)

export interface PreflightRollout {
  value: number | null;
  success: boolean;
  turns: number;
  malformed: number;
  stop: string;
  error: string;
}

export interface PreflightProblem {
  seed: number;
  solution: string;
  length: number | null;
  rollouts: PreflightRollout[];
  mean: number | null;
  variance: number | null;
  difficulty: string;
}

export interface PreflightReport {
  player: string;
  rollouts: number;
  problems: PreflightProblem[];
  shares: { easy: number; mixed: number; hard: number };
  varied: number;
  mean: number | null;
  success: number | null;
  variance_within: number;
  variance_total: number;
  budget: number;
  lengths: number[];
  over_budget: number;
  unknown_solutions: number;
  malformed: number;
  faults: number;
  errors: string[];
  distinct: number;
  shared: number;
  verdict: { level: string; text: string };
}

export interface Preflight {
  state: string;
  label: string;
  live: boolean;
  message: string;
  asked: { problems: number; rollouts: number };
  report: PreflightReport | null;
}

export interface Message {
  role: string;
  content: string;
}

// Alert rules, as forms

export type RuleValue = string | number | boolean | string[] | null;
export type Rule = Record<string, RuleValue> & { name: string; kind: string };

export interface RuleField {
  name: string;
  label: string;
  help: string;
  kind: string;
  choices: string[];
  default: RuleValue;
}

// Plotly: the part that is used

export interface PlotlyAxis {
  _offset: number;
  _length: number;
  d2p(value: number | Date): number;
}

export interface Trace {
  x: (number | Date)[];
  y: number[];
  text?: string[];
  customdata?: (number | { run: string; step: number })[];
  name?: string;
  showlegend?: boolean;
  [option: string]: unknown;
}

export interface PlotlyLayout {
  margin: Record<string, number>;
  [option: string]: unknown;
}

export interface PlotlyPoint {
  customdata?: number | { run: string; step: number };
}

interface PlotlyEvents {
  plotly_click: { points: PlotlyPoint[]; event?: MouseEvent };
  plotly_relayout: Record<string, number | string | undefined>;
  plotly_doubleclick: undefined;
  plotly_clickannotation: { annotation: { name?: string } };
  plotly_afterplot: undefined;
}

/** The element that Plotly draws into; its members are there once it has drawn. */
export interface Plot extends HTMLElement {
  data: Trace[];
  layout: PlotlyLayout;
  _fullLayout?: { width: number; xaxis: PlotlyAxis; _size: { l: number; t: number; w: number; h: number } };
  on?<K extends keyof PlotlyEvents>(event: K, handler: (event: PlotlyEvents[K]) => void): void;
  markPosition?: () => number | Date | null;
}

declare global {
  // eslint-disable-next-line no-var
  var Plotly: {
    react(plot: Plot, traces: Trace[], layout: PlotlyLayout, options: Record<string, unknown>): Promise<void>;
    purge(plot: Plot): void;
    toImage(figure: { data: Trace[]; layout: PlotlyLayout }, options: Record<string, unknown>): Promise<string>;
    Plots: { resize(plot: Plot): void };
  };
  interface HTMLElementEventMap {
    "step-pointed": CustomEvent<number | null>;
    "steps-selected": CustomEvent<[number, number] | null>;
  }
}
