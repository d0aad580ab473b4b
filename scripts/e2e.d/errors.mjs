// Owns the form of the API's errors. Leaves the occasion of each to whoever makes it.

const NAMES = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

/** `{status, body, headers}`, as the API answers. */
export function apiError(code, message, details, headers = {}) {
  const error = { code, message, status: NAMES[code] ?? 'UNKNOWN', ...(details?.length > 0 && { details }) };
  return { status: code, body: { error }, headers };
}
