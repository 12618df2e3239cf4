import type { FastifyRequest } from 'fastify';
import type { Action } from '../accounts/principal.ts';
import { KINDS, type Kind, type ObjectKey } from '../protocol/name.ts';

/** The kind of object that a route is about. */
export interface RouteObject {
  kind: Kind;
  /** Whether the route creates it. */
  isCreated?: true;
}

/** What a route is, beside what the OpenAPI document states about it. */
export interface RouteRecord {
  /** What a request does; `public` needs no permission. */
  action: Action | 'public';
  /** The object whose name is in the path. */
  object?: RouteObject;
  /** Whether a request needs credentials. By default, all that is not `public` does. */
  guarded: boolean;
  /** Whether replies carry the applied revision. By default, those about an object do. */
  carriesRevision: boolean;
  /**
   * Whether the route waits until a revision is applied. By default, those do whose replies carry it; but one that writes
   * answers while the first revision is refused, for a write can repair it, and the writer reports why one is impossible.
   */
  needsRevision: boolean | 'unless refused';
  /** Whether it is for probes, which use any host name and often fail. */
  isProbe: boolean;
  /** Whether devices send so many of these that they would bury the rest of the log. */
  isRoutine: boolean;
}

/** The properties of a route that differ from the defaults. */
export type RouteProperties = Pick<RouteRecord, 'action'> & Partial<RouteRecord>;

declare module 'fastify' {
  interface FastifyContextConfig {
    record?: RouteRecord;
  }
}

export function routeRecord(given: RouteProperties): RouteRecord {
  const { action, object, carriesRevision = object !== undefined } = given;
  return {
    guarded: action !== 'public',
    carriesRevision,
    needsRevision: carriesRevision && (action === 'read' || 'unless refused'),
    isProbe: false,
    isRoutine: false,
    ...given,
  };
}

/** The options of a route that is no operation of the API, so that the OpenAPI document leaves it out. */
export const UNLISTED = {
  schema: { hide: true } as object,
  config: { record: routeRecord({ action: 'public' }) },
};

/** Stands for what leads to no route. It is refused to devices as every other read is; `access/gate.ts` says when it is guarded. */
const NO_ROUTE = routeRecord({ action: 'read', carriesRevision: true, needsRevision: false });

/** Returns the path parameter with the name of an object. */
export function nameParameter(kind: Kind): string {
  return `${kind}_name`;
}

/** Returns the object that the path of a request names, valid or not; none if it names none. */
export function objectsOf(request: FastifyRequest): readonly ObjectKey[] {
  // What cannot be decoded has no parameters.
  const params = (request.params ?? {}) as Readonly<Record<string, string>>;
  const { object } = recordOf(request);
  const kind = object?.kind ?? KINDS.find((each) => each === params['kind']);
  const name = kind && (params[nameParameter(kind)] ?? params['name']);
  return kind === undefined || name === undefined ? [] : [{ kind, name }];
}

/** Returns the record of the route of a request. */
export function recordOf({ routeOptions }: FastifyRequest): RouteRecord {
  return routeOptions.config.record ?? NO_ROUTE;
}
