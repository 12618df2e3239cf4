import { layers, rooms } from './layers.config.mjs';

/** A layer is a folder of src/, or a file of that name. */
const inLayers = (names) => `^src/(${names.join('|')})(/|\\.ts$)`;

const directionRules = Object.entries(layers)
  .filter(([, { may }]) => !may.includes('*'))
  .map(([layer, { may }]) => ({
    name: `${layer}-imports`,
    comment: `${layer} may import ${[layer, ...may].join(', ')} and nothing else of ours`,
    severity: 'error',
    from: { path: inLayers([layer]) },
    to: { path: '^src/', pathNot: inLayers([layer, ...may]) },
  }));

/** Rules between the folders of one layer. */
const roomRules = Object.entries(rooms).flatMap(([layer, table]) => {
  const names = Object.keys(table);
  const backward = names.find((room, index) =>
    table[room].may.some((other) => names.indexOf(other) >= index),
  );
  if (backward !== undefined) throw new Error(`${layer}/${backward} may import a room that is not above it`);
  const inRooms = (some) => `^src/${layer}/(${some.join('|')})(/|\\.ts$)`;
  const named = Object.entries(table).map(([room, { may }]) => ({
    name: `${layer}/${room}-imports`,
    comment: `of ${layer}, ${room} may import ${[room, ...may].join(', ')} and nothing else`,
    severity: 'error',
    from: { path: inRooms([room]) },
    to: { path: `^src/${layer}/`, pathNot: inRooms([room, ...may]) },
  }));
  const unnamed = {
    name: `${layer}-has-named-rooms`,
    comment: `every file of ${layer} is in a folder of the table`,
    severity: 'error',
    from: {},
    to: { path: `^src/${layer}/`, pathNot: inRooms(names) },
  };
  return [...named, unnamed];
});

const purityRules = Object.entries(layers)
  .filter(([, { pure }]) => pure !== undefined)
  .map(([layer, { pure }]) => ({
    name: `${layer}-is-pure`,
    comment: `${layer} imports no package but ${pure.join(', ') || 'none'}: time, files and randomness are arguments`,
    severity: 'error',
    from: { path: inLayers([layer]) },
    to: {
      pathNot: [
        '^src/',
        ...pure.map((name) => (name.startsWith('node:') ? `^${name.slice(5)}$` : `node_modules/${name}/`)),
      ],
    },
  }));

export default {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'no-unresolved', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'one-git-wrapper',
      comment: 'every git process is started in source/git, with its fixed environment and command lines',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot:
          '^src/(source/git/|worker/engine/credential-helper\\.ts$|process/pager\\.ts$|cli/import/compose-program\\.ts$)',
      },
      to: { path: '^child_process$' },
    },
    {
      name: 'one-yaml-reader',
      comment:
        'only desired/yaml decides how YAML is read; compose/project.ts reads what Docker Compose writes',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(desired/yaml/|compose/project\\.ts$)' },
      to: { path: 'node_modules/yaml/' },
    },
    {
      name: 'loaded-on-demand',
      comment: 'modules that a start does not need are loaded by import(): otherwise they take a third of it',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot:
          '^src/(mongo|store/(schema/mongo|root|(history|reports|objects|devices|asks|incidents|open)/mongo))',
      },
      to: {
        path: `^src/(serve\\.ts$|mongo/|store/(schema/mongo|root|(history|reports|objects|devices|asks|incidents|open)/mongo)|service/observability/exposition)|node_modules/pino-pretty/`,
        dynamic: false,
        dependencyTypesNot: ['type-only'],
      },
    },
    ...directionRules,
    ...roomRules,
    ...purityRules,
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'types'] },
  },
};
