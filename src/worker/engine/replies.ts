import { isMapValue } from '../../protocol/values.ts';
import { CONTAINER_STATES, type ContainerState, type Health, type HostPort } from '../plan/model.ts';
import {
  type ContainerDetails,
  type ContainerSummary,
  EngineError,
  type EngineInfo,
  type Image,
} from './engine.ts';

/** A map that an engine answered; nothing is known of its values. */
export type EngineReply = Readonly<Record<string, unknown>>;
type Reply = EngineReply;

const HOLDING_PORTS: readonly ContainerState[] = ['running', 'restarting', 'paused'];
const EVERY_ADDRESS = ['', '0.0.0.0', '::'];
/** What Docker uses where a health check says nothing, in seconds. */
const HEALTH_DEFAULTS = { interval: 30, timeout: 30, retries: 3 };
const NANOSECONDS = 1e9;

/** Parses a reply. Rejects as `unavailable` what is no JSON: half a reply, or that of something that is no engine. */
export function parseReply(body: Buffer, call: string): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (error) {
    throw new EngineError('unavailable', `${call}: the engine's answer is not JSON`, error);
  }
}

/** Returns a reply as a map. Throws `unavailable` if it is none. */
export function mapOf(reply: unknown, call: string): Reply {
  if (isMapValue(reply)) return reply;
  throw new EngineError('unavailable', `${call}: the engine's answer is not a map`);
}

/** Returns a reply as a list of maps. Throws `unavailable` if it is none. */
export function mapsOf(reply: unknown, call: string): Reply[] {
  if (Array.isArray(reply)) return reply.filter(isMapValue);
  throw new EngineError('unavailable', `${call}: the engine's answer is not a list`);
}

/** Returns the message of a reply that says that a call failed; its text if it has none. */
export function messageIn(body: Buffer): string {
  const text = body.toString('utf8');
  try {
    const { message, cause } = JSON.parse(text);
    return [message, cause].find((part) => typeof part === 'string' && part !== '') ?? text;
  } catch {
    return text;
  }
}

/** Returns what `/info` tells about the machine. */
export function machineOf(info: Reply): Omit<EngineInfo, 'api'> {
  return {
    name: text(info['Name']),
    version: text(info['ServerVersion']),
    cores: number(info['NCPU']),
    memory: number(info['MemTotal']),
    root: text(info['DockerRootDir']),
  };
}

export function containerOf(reply: Reply): ContainerSummary {
  const state = stateOf(text(reply['State']));
  return {
    id: text(reply['Id']),
    name: nameIn(reply['Names']),
    labels: isMapValue(reply['Labels']) ? (reply['Labels'] as Record<string, string>) : {},
    image: text(reply['Image']),
    imageId: text(reply['ImageID']),
    state,
    health: healthIn(text(reply['Status'])),
    lastExit: lastExitIn(text(reply['Status'])),
    ports: HOLDING_PORTS.includes(state) ? portsIn(reply['Ports']) : [],
  };
}

export function detailsOf(reply: Reply): ContainerDetails {
  const state = map(reply['State']);
  const config = map(reply['Config']);
  const status = stateOf(text(state['Status']));
  const exitCode = number(state['ExitCode']);
  const hasEnded = status !== 'running' && status !== 'paused' && !(status === 'created' && exitCode === 0);
  return {
    restarts: number(reply['RestartCount']),
    exitCode: hasEnded ? exitCode : null,
    healthLimit: healthLimitOf(map(config['Healthcheck'])),
    stopTimeout: number(config['StopTimeout']) || null,
    restart: restartOf(reply),
  };
}

export function imageOf(reply: Reply): Image {
  return {
    id: text(reply['Id']),
    tags: texts(reply['RepoTags']).filter((tag) => !tag.includes('<none>')),
    digests: texts(reply['RepoDigests']).filter((digest) => !digest.includes('<none>')),
  };
}

/** Returns processor and memory that a container uses; null if it does not run. */
export function statsOf(reply: Reply): { cpu: number; memory: number } | null {
  const memory = map(reply['memory_stats']);
  if (memory['usage'] === undefined) return null;
  const details = map(memory['stats']);
  // The cache of files, which is given back when memory is needed; the first name is that of cgroup v2.
  const cache = number(details['inactive_file'] ?? details['total_inactive_file']);
  const cpuNow = number(map(map(reply['cpu_stats'])['cpu_usage'])['total_usage']);
  const cpuBefore = number(map(map(reply['precpu_stats'])['cpu_usage'])['total_usage']);
  const milliseconds = Date.parse(text(reply['read'])) - Date.parse(text(reply['preread']));
  // Without an earlier sample its time is the year 1, so that this is 0.
  const cpu = milliseconds > 0 ? Math.max(0, cpuNow - cpuBefore) / (milliseconds * 1e6) : 0;
  return { cpu: Math.round(cpu * 10_000) / 100, memory: Math.max(0, number(memory['usage']) - cache) };
}

/** Characters of a line of a container's log that are kept. */
const LONGEST_LINE = 500;

/** Returns the lines of a container's log, cut where they are long, whose pieces have a header each unless the container has a terminal. */
export function logLines(body: Buffer): string[] {
  const pieces: Buffer[] = [];
  let rest = body;
  while (rest.length >= 8 && rest.readUInt32BE(0) % 0x1000000 === 0 && (rest[0] ?? 3) < 3) {
    const end = 8 + rest.readUInt32BE(4);
    pieces.push(rest.subarray(8, end));
    rest = rest.subarray(end);
  }
  const output = pieces.length === 0 ? body : Buffer.concat(pieces);
  return output
    .toString('utf8')
    .split(/\r?\n/)
    .filter((line) => line !== '')
    .map((line) => (line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)} …` : line));
}

function stateOf(word: string): ContainerState {
  const lower = word.toLowerCase();
  return CONTAINER_STATES.find((state) => state === lower) ?? 'dead';
}

/** Only from API 1.52 on the list has a field for it; the words of the status are in every version. */
function healthIn(status: string): Health {
  const [, word] = /\((?:health: )?(starting|healthy|unhealthy)\)/.exec(status) ?? [];
  return (word as Health | undefined) ?? 'none';
}

/** `Exited (1) 5 minutes ago`. */
function lastExitIn(status: string): number | null {
  const [, code] = /^(?:Exited|Restarting) \((-?\d+)\)/.exec(status) ?? [];
  return code === undefined ? null : Number(code);
}

function portsIn(reply: unknown): HostPort[] {
  const ports = Array.isArray(reply) ? reply.filter(isMapValue) : [];
  const byKey = new Map<string, HostPort>();
  for (const { IP, PublicPort, Type } of ports) {
    if (typeof PublicPort !== 'number' || PublicPort === 0) continue;
    const address = EVERY_ADDRESS.includes(text(IP)) ? null : text(IP);
    const port = { address, port: PublicPort, protocol: text(Type) || 'tcp' };
    byKey.set(Object.values(port).join(' '), port);
  }
  return [...byKey.values()];
}

/** Seconds until a check that never succeeds has made the container unhealthy. */
function healthLimitOf(check: Reply): number | null {
  const [kind = 'NONE'] = texts(check['Test']);
  if (kind === 'NONE' || kind === '') return null;
  const interval = seconds(check['Interval']) || HEALTH_DEFAULTS.interval;
  const timeout = seconds(check['Timeout']) || HEALTH_DEFAULTS.timeout;
  const retries = number(check['Retries']) || HEALTH_DEFAULTS.retries;
  return seconds(check['StartPeriod']) + (retries + 1) * (interval + timeout);
}

/** A container that others link to has their names for it as well, with a second slash. */
function nameIn(names: unknown): string {
  const own = texts(names).map((name) => name.replace(/^\//, ''));
  return own.find((name) => !name.includes('/')) ?? '';
}

function seconds(value: unknown): number {
  return number(value) / NANOSECONDS;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

function number(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

function map(value: unknown): Reply {
  return isMapValue(value) ? value : {};
}

/** `no`, `unless-stopped`, `on-failure:3`, ... */
function restartOf(reply: Reply): string | null {
  const policy = map(map(reply['HostConfig'])['RestartPolicy']);
  const [name, most] = [text(policy['Name']), number(policy['MaximumRetryCount'])];
  if (name === '') return null;
  return name === 'on-failure' && most > 0 ? `${name}:${most}` : name;
}
