/** How far a pass is: files that were read, or objects that were written to the store. */
export interface Progress {
  phase: 'reading' | 'applying';
  done: number;
  total: number;
}

/** Is told of the way of a pass; often, so it has to be quick. */
export type TellProgress = (progress: Progress) => void;
