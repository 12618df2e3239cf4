import type { Draft } from '../draft.ts';
import type { Container, Step } from '../model.ts';
import { isUp } from '../view.ts';

/** Notes that the worker itself stops the container, so that it has not ended because its work is done. */
export function stopStep({ id, app, name, stopTimeout }: Container, draft: Draft): Step {
  const { actual, rules } = draft.world;
  const others = draft
    .stoppedOf(app)
    .filter((other) => other !== id && actual.containers.some((container) => container.id === other));
  draft.remember(app, { stopped: [...others, id] });
  return { do: 'stop', app, container: id, name, grace: stopTimeout ?? rules.stopTimeout };
}

export function renameStep({ id, app, name }: Container, to: string): Step {
  return { do: 'rename', app, container: id, name, to };
}

/** The next step towards a container that is gone: it is stopped with its grace first, whoever started it. */
export function discardStep(container: Container, draft: Draft): Step {
  if (isUp(container)) return stopStep(container, draft);
  const { id, app, name } = container;
  return { do: 'remove', app, container: id, name };
}
