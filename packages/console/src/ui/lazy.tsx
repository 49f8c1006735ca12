import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Loading, Problem } from './parts.tsx';

/** A part that is loaded when it is first shown, with what only it needs. Another `name` is another part. */
export function Lazy<Props extends object>(props: {
  name: string;
  load: () => Promise<ComponentType<Props>>;
  with: Props;
}) {
  const [loaded, setLoaded] = useState<{ name: string; View: ComponentType<Props> }>();
  const [error, setError] = useState<unknown>();
  const load = () => {
    setError(undefined);
    props.load().then((View) => setLoaded({ name: props.name, View }), setError);
  };
  useEffect(load, [props.name]);
  if (error !== undefined) return <Problem error={error} retry={load} />;
  return loaded?.name === props.name ? <loaded.View {...props.with} /> : <Loading />;
}
