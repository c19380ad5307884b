export function NewPage() { return <p>…</p>; }
