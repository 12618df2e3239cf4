import { KEYS } from '../src/compose/keys.ts';
import { LEFT_OUT } from '../src/compose/left-out.ts';
import { type SettingTable, shownDefault } from '../src/settings/setting.ts';
import { SETTINGS } from '../src/settings/table.ts';
import { WORKER_SETTINGS } from '../src/worker/settings.ts';

/** A table of a document that is generated from the code. */
export interface DocumentTable {
  file: string;
  /** The name in the two comments that enclose the table. */
  mark: string;
  table: string;
}

interface Layer {
  may: string[];
  pure?: string[];
  promise: string;
}

/** Resolves to all generated tables, as their documents must contain them. */
export async function renderedTables(): Promise<DocumentTable[]> {
  const { layers } = (await import(new URL('../layers.config.mjs', import.meta.url).href)) as {
    layers: Record<string, Layer>;
  };
  return [
    { file: 'docs/settings.md', mark: 'settings', table: settingsTable(SETTINGS) },
    { file: 'docs/devices.md', mark: 'settings', table: settingsTable(WORKER_SETTINGS) },
    { file: 'docs/architecture.md', mark: 'layers', table: layersTable(layers) },
    { file: 'docs/from-compose.md', mark: 'keys', table: composeTable() },
  ];
}

function settingsTable(settings: SettingTable): string {
  const rows = Object.entries(settings).map(([name, setting]) => {
    const shown = shownDefault(setting);
    const cell = setting.isRequired === true || setting.fallback === null ? shown : `\`${shown}\``;
    return `| \`${name}\` | ${cell} | ${setting.meaning} |`;
  });
  return ['| Setting | Default | Meaning |', '|---|---|---|', ...rows, ''].join('\n');
}

/** What becomes of each key of a service of Compose. */
function composeTable(): string {
  const rows = [
    ...Object.entries(KEYS).map(([key, { becomes }]) => [key, becomes] as const),
    ...Object.entries(LEFT_OUT).map(([key, advice]) => [key, `*left out:* ${advice}`] as const),
  ];
  const lines = rows.map(([key, text]) => `| \`${key}\` | ${text} |`);
  return ['| Key of a service | What becomes of it |', '|---|---|', ...lines, ''].join('\n');
}

function layersTable(layers: Record<string, Layer>): string {
  const rows = Object.entries(layers).map(([name, { may, pure, promise }]) => {
    const imports = may.includes('*') ? 'everything' : may.join(', ') || 'nothing of ours';
    const purity = pure === undefined ? '' : `yes; ${pure.join(', ') || 'no packages'}`;
    return `| \`${name}\` | ${promise} | ${imports} | ${purity} |`;
  });
  return ['| Layer | What it promises | May import | Pure |', '|---|---|---|---|', ...rows, ''].join('\n');
}
