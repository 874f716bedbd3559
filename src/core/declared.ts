// A custom resource as the core knows it: whose row it is, and which of its states this is.

/**
 * `uid` and `generation` fence every write: a row that a later generation, or an object of another uid, has written is not
 * changed by an earlier one. `adopt` is the id of a row of /v1 that the object is to take over.
 */
export type Declared = {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  readonly adopt?: string;
};

/** What applying a declaration came to. `adopted`: the row was there, and was another object's, or nobody's. */
export type AppliedAs = 'created' | 'adopted' | 'updated' | 'unchanged';
