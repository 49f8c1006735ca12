export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/**
 * The arguments of a call as a model wrote them. None are an empty object; JSON in a JSON string is
 * taken out of it. Text that is no JSON stays a string; the core reports it to the model.
 */
export function parseArguments(text: string): unknown {
  const value = parse(text);
  return typeof value === 'string' && value !== text ? parse(value) : value;
}

function parse(text: string): unknown {
  if (text.trim() === '') return {};
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
