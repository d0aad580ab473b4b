/** What is wrong with the arguments, for the person who gave them. */
export class UsageError extends Error {}
