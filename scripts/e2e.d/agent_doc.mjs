export function documentOf() { return ''; }
