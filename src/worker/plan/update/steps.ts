import type { Container, Rules, Step } from '../model.ts';
import { isUp } from '../view.ts';

export function stopStep({ id, app, name, stopTimeout }: Container, rules: Rules): Step {
  return { do: 'stop', app, container: id, name, grace: stopTimeout ?? rules.stopTimeout };
}

export function renameStep({ id, app, name }: Container, to: string): Step {
  return { do: 'rename', app, container: id, name, to };
}

/** The next step towards a container that is gone: it is stopped with its grace first, whoever started it. */
export function discardStep(container: Container, rules: Rules): Step {
  if (isUp(container)) return stopStep(container, rules);
  const { id, app, name } = container;
  return { do: 'remove', app, container: id, name };
}
