import { describe, expect, it } from 'vitest';
import { variableWarnings } from '../../src/desired/variables.ts';

/** `line:column field` of each warning. */
function warned(text: string): string[] {
  return variableWarnings(Buffer.from(text)).map(
    ({ line, column, message }) => `${line}:${column} ${message.split(' ')[0]}`,
  );
}

describe('variableWarnings', () => {
  it('names each value that has a variable, with its position', () => {
    const text = [
      'container_image: web:1',
      'env_vars:',
      '  HOST: ${device.name}',
      '  URL: "https://${HOST:-secret}/${PATH}"',
      '  PRICE: $5 {a}',
      'volumes: ["/srv/${SITE}:/data", "/a:/b"]',
      '',
    ].join('\n');
    expect(warned(text)).toEqual(['3:3 env_vars.HOST', '4:3 env_vars.URL', '6:11 volumes[0]']);
  });

  it('does not show the value, which can be a secret', () => {
    const [warning] = variableWarnings(Buffer.from('env_vars: {TOKEN: "${secret}"}\n'));
    expect(warning).toMatchObject({
      code: 'variable-literal',
      message: expect.stringMatching(
        /^env_vars\.TOKEN contains "\$\{\.\.\.\}", which containers get as it is: /,
      ),
    });
    expect(JSON.stringify(warning)).not.toContain('secret');
  });

  it.each([
    ['an escaped variable', 'env_vars: {A: "$${HOST}"}\n'],
    ['a comment', 'container_image: web # ${HOST}\n'],
    ['an incomplete variable', 'env_vars: {A: "${HOST"}\n'],
    ['invalid YAML', 'a: "${HOST}\n'],
    ['a file that is not text', 'a: \0${HOST}\n'],
  ])('does not warn of %s', (_name, text) => {
    expect(warned(text)).toEqual([]);
  });
});
