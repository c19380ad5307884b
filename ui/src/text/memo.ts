/** A component that is rendered again only when a property has changed. */
import { Component, type ComponentChildren, h, type FunctionComponent } from "preact";

export function memo<P extends object>(render: (props: P) => ComponentChildren): FunctionComponent<P> {
  class Memo extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      const before = this.props as Record<string, unknown>;
      return Object.entries(next).some(([name, value]) => before[name] !== value);
    }
    override render(): ComponentChildren {
      return h(render as FunctionComponent<P>, this.props as P);
    }
  }
  return Memo as unknown as FunctionComponent<P>;
}
