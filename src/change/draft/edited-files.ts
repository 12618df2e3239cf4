import type { Pace } from '../../async/pace.ts';
import { classifyPath } from '../../desired/file.ts';
import { parseObjectText } from '../../desired/parse.ts';
import type { FileChange, StateFile } from '../../desired/state.ts';
import { isTooLarge } from '../../desired/yaml/document.ts';
import { HoldfastError } from '../../errors.ts';
import type { AppDefaults } from '../../protocol/app.ts';
import type { FileEdit } from '../../source/source.ts';
import { FileTooLarge } from '../refusals.ts';
import type { WriteView } from './view.ts';

/** A file that a draft edits; a text is null where there is no file. */
export interface EditedFile {
  /** Relative to the folder. */
  path: string;
  before: string | null;
  after: string | null;
}

/** What a file was before its first edit, and what it is now. */
interface Editing {
  original: StateFile | null;
  before: string | null;
  edit: FileEdit;
  change: FileChange;
}

/** The edits of a draft. They are also in its view, so that each change of a set sees those before it. */
export class EditedFiles {
  readonly #view: WriteView;
  readonly #files = new Map<string, Editing>();

  constructor(view: WriteView) {
    this.#view = view;
  }

  /** Edits a file of the view. Returns the keys of the objects that may differ. Throws FileTooLarge. */
  apply(edit: FileEdit): Set<string> {
    const { path, text } = edit;
    const { desired, texts, defaults } = this.#view;
    const change = changeOf(edit, defaults);
    const original = desired.file(path) ?? null;
    const before = original === null ? null : (texts.get(path) ?? '');
    this.#files.set(path, { original, before, ...this.#files.get(path), edit, change });
    if (text === null) texts.delete(path);
    else texts.set(path, text);
    return desired.apply([change]);
  }

  /** The files that differ from what they were. */
  files(): EditedFile[] {
    return this.#changed().map(({ edit, before }) => ({ path: edit.path, before, after: edit.text }));
  }

  /** The same for the desired state. */
  changes(): FileChange[] {
    return this.#changed().map(({ change }) => change);
  }

  /** Takes all edits back from the view. */
  async restore(pace: Pace): Promise<void> {
    for (const [path, { original, before }] of this.#files) {
      this.#view.desired.apply([{ path, file: original }]);
      if (before !== null) this.#view.texts.set(path, before);
      await pace.step();
    }
  }

  /**
   * Without the files that were edited and then got their text back. A text that only now is valid was in another encoding
   * (see `editableText`).
   */
  #changed(): Editing[] {
    return Array.from(this.#files.values()).filter(
      ({ original, before, edit, change }) =>
        before !== edit.text || (!isValid(original) && isValid(change.file)),
    );
  }
}

function isValid(file: StateFile | null): boolean {
  return file?.kind != null && file.parsed.ok;
}

/** Parses an edited text as if it came from a commit. */
function changeOf({ path, text }: FileEdit, defaults: AppDefaults): FileChange {
  if (text === null) return { path, file: null };
  if (isTooLarge(text)) throw new FileTooLarge();
  const role = classifyPath(path);
  if (role.role !== 'object') throw new HoldfastError('internal', 'an edit of a file that is not read');
  const parsed = parseObjectText(role.kind, text, defaults);
  const file: StateFile = { path, blob: '', kind: role.kind, name: role.name, parsed };
  return { path, file };
}
