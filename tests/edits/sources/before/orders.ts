import { Clock, Order, Store } from './types';

/** Keeps the orders of a shop, and says which are late. */
export class OrderBook {
  private readonly orders = new Map<string, Order>();

  constructor(private readonly store: Store, private readonly clock: Clock) {}

  async load(): Promise<number> {
    const rows = await this.store.read('orders');
    for (const row of rows) {
      this.orders.set(row.id, { ...row, items: row.items ?? [] });
    }
    return rows.length;
  }

  add(order: Order): void {
    if (this.orders.has(order.id)) {
      throw new Error(`there is an order "${order.id}" already`);
    }
    this.orders.set(order.id, order);
  }

  late(limitHours = 48): Order[] {
    const limit = this.clock.now() - limitHours * 3600;
    return [...this.orders.values()]
      .filter((order) => order.placedAt < limit && !order.sentAt)
      .sort((a, b) => a.placedAt - b.placedAt);
  }

  total(id: string): number {
    const order = this.orders.get(id);
    if (order === undefined) {
      return 0;
    }
    // Prices are in cents.
    return order.items.reduce((sum, item) => sum + item.price * item.count, 0);
  }
}
