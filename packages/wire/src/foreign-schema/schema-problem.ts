/** Why a schema cannot be used. */
export class SchemaProblem extends Error {}
