# ruff: noqa: D417 (a tool's docstring tells the policy about its arguments; the draft is none of them)
"""The shop's world: sixteen tools over products, users and orders.

Tool names, arguments, results and error texts are those of the public retail benchmark. By default the tools behave
soundly: every swapped item gets its own variant's price and options, amounts are rounded to cents, no call creates
money. With the option ``compat="tau2"`` they behave as the benchmark's published code does, oddities included, so that
recorded episodes run again byte for byte.
"""

from __future__ import annotations

from functools import partial

from simia_gym.domain.tools import tool
from simia_gym.envs._tau2 import data
from simia_gym.envs._tau2.calls import absent, check_hashable
from simia_gym.envs._tau2.world import Tau2World, renderer_of
from simia_gym.envs.retail import error_hints
from simia_gym.envs.retail.lookup import find_by_email, find_by_name, find_variant, list_products
from simia_gym.envs.retail.orders import MODIFIED, REASONS, UserAddress, credit, entry, is_gift_card, net_paid
from simia_gym.envs.retail.swaps import apply_swap, check_items, plan_swaps
from simia_gym.errors import ToolError
from simia_gym.state import Draft
from simia_gym.types import JsonObject, Row

ITSELF = "simia_gym.envs.retail.world:show"
SHOW_ORDER: JsonObject = {"row": "/orders/{order_id}"}
SHOW_USER: JsonObject = {"row": "/users/{user_id}"}

ORDER = "orders/{order_id}"
METHODS = "users/{/orders/{order_id}/user_id}#payment_methods"
"""The payment methods of the order's buyer."""
NEW_ITEMS = "products/{/orders/{order_id}/items/*/product_id}#product_id,name,variants/{new_item_ids}"
"""The products of the order's items, each with the requested variants only."""

MOVES_MONEY = ("orders/*/payment_history", "users/*/payment_methods/*/balance")


class RetailWorld(Tau2World):
    """The executable shop."""

    toolkit = "RetailTools"

    # Reading

    @tool(effect="read", reads=("users?email={email}#email",), render=ITSELF)
    def find_user_id_by_email(self, db: Draft, email: str) -> str:
        """Look up who an email address belongs to. Try this first when you authenticate a customer.

        Args:
            email: The customer's email address, such as 'name@example.com'; upper and lower case are the same.
        """
        found = find_by_email(db, email)
        if not found:
            raise ToolError("User not found", "not_found", error_hints.EMAIL)
        return found[0]

    @tool(
        effect="read",
        reads=("users?name/first_name={first_name}#name,address/zip",),
        render=ITSELF,
    )
    def find_user_id_by_name_zip(self, db: Draft, first_name: str, last_name: str, zip: str) -> str:
        """Look up a customer by first name, last name and postal code, for those who cannot give their email address.

        Args:
            first_name: First name, such as 'Alba'; upper and lower case are the same.
            last_name: Last name, such as 'Duarte'; upper and lower case are the same.
            zip: Five-digit postal code of the customer's default address, such as '05401'.
        """
        found = find_by_name(db, first_name, last_name, zip)
        if not found:
            raise ToolError("User not found", "not_found", error_hints.NAME_ZIP)
        return found[0]

    @tool(effect="read", reads=("users/{user_id}",), render=SHOW_USER)
    def get_user_details(self, db: Draft, user_id: str) -> Row:
        """Show a customer's profile: name, default address, email, payment methods and the ids of all orders.

        Args:
            user_id: The customer's id, such as 'alba_duarte_1234'.
        """
        return _need(db, "users", user_id)

    @tool(effect="read", reads=(ORDER,), render=SHOW_ORDER)
    def get_order_details(self, db: Draft, order_id: str) -> Row:
        """Show an order: items, status, shipping address, parcels and payments.

        Args:
            order_id: The order's id with its leading '#', such as '#W1234567'.
        """
        return _need(db, "orders", order_id)

    @tool(effect="read", reads=("products/{product_id}",), render={"row": "/products/{product_id}"})
    def get_product_details(self, db: Draft, product_id: str) -> Row:
        """Show a product with all its variants: item ids, options, prices, and whether they are in stock.

        Args:
            product_id: The product's id, such as '1234567890'. It is not an item id.
        """
        return _need(db, "products", product_id)

    @tool(effect="read", reads=("products?variants/{item_id}#variants/{item_id}",), render=ITSELF)
    def get_item_details(self, db: Draft, item_id: str) -> Row:
        """Show one variant of a product: its options, its price, and whether it is in stock.

        Args:
            item_id: The variant's item id, such as '1234567890'. It is not a product id.
        """
        check_hashable(item_id)
        variant = find_variant(db.state, item_id)
        if variant is None:
            raise ToolError("Item not found", "not_found", error_hints.ITEM)
        return variant

    @tool(effect="read", reads=("products#name,product_id",), render=ITSELF)
    def list_all_product_types(self, db: Draft) -> str:
        """List every product type that the shop sells: a JSON object of names and product ids, sorted by name."""
        return list_products(db.state)

    # Writing

    @tool(
        effect="write",
        reads=(ORDER, METHODS),
        writes=("orders/*/status", "orders/*/cancel_reason", *MOVES_MONEY),
        render=SHOW_ORDER,
        always_changes=True,
    )
    def cancel_pending_order(self, db: Draft, order_id: str, reason: str) -> Row:
        """Cancel a pending order and refund it to the payment method it was paid with.

        Tell the customer what will happen and get an explicit yes before you call this. A gift card is refunded at once
        (its balance grows), any other method within 5 to 7 business days. Each method that has paid gets one refund at
        the end of the payment history, in the order in which they paid first. The result is the cancelled order.

        Args:
            order_id: The order's id with its leading '#', such as '#W1234567'.
            reason: Either 'no longer needed' or 'ordered by mistake'.
        """
        order = _order(db, order_id, "pending", "cancelled")
        check_hashable(reason)
        if reason not in REASONS:
            raise ToolError("Invalid reason", "invalid_reason", error_hints.REASON)
        if self.tau2:
            due = [(line["payment_method_id"], line["amount"]) for line in order["payment_history"]]
        else:
            due = list(net_paid(order).items())
        methods = [_method(db, order["user_id"], method_id) for method_id, _ in due]
        changed = db.edit("orders", order_id)
        for method, (method_id, amount) in zip(methods, due, strict=True):
            credit(db, order["user_id"], method, amount)
            changed["payment_history"].append(entry("refund", amount, method_id))
        changed["status"] = "cancelled"
        changed["cancel_reason"] = reason
        return changed

    @tool(effect="write", reads=(ORDER,), writes=("orders/*/address",), render=SHOW_ORDER, always_changes=True)
    def modify_pending_order_address(
        self, db: Draft, order_id: str, address1: str, address2: str, city: str, state: str, country: str, zip: str
    ) -> Row:
        """Change where a pending order is shipped.

        Tell the customer the new address and get an explicit yes before you call this. The result is the order.

        Args:
            order_id: The order's id with its leading '#', such as '#W1234567'.
            address1: Street and number, such as '12 Foundry Way'.
            address2: Apartment, suite or unit, such as 'Apt 3'; '' if there is none.
            city: City, such as 'Boise'.
            state: Two-letter state, such as 'ID'.
            country: Country, such as 'USA'.
            zip: Postal code, such as '83702'.
        """
        _order(db, order_id, "pending", "modified", MODIFIED)
        address = UserAddress(address1=address1, address2=address2, city=city, country=country, state=state, zip=zip)
        changed = db.edit("orders", order_id)
        changed["address"] = address.model_dump()
        return changed

    @tool(effect="write", reads=(ORDER, METHODS), writes=MOVES_MONEY, render=SHOW_ORDER, always_changes=True)
    def modify_pending_order_payment(self, db: Draft, order_id: str, payment_method_id: str) -> Row:
        """Have a pending order paid with another of the customer's payment methods; the present one is refunded.

        Tell the customer what will happen and get an explicit yes before you call this. At the end of the payment
        history come the payment with the new method and the refund to the old one, in this order; the balances of gift
        cards move at once. The result is the order.

        Args:
            order_id: The order's id with its leading '#', such as '#W1234567'.
            payment_method_id: The new payment method from the customer's profile, such as 'gift_card_1234567'.
        """
        order = _order(db, order_id, "pending", "modified", MODIFIED)
        user_id = order["user_id"]
        method = _method(db, user_id, payment_method_id)
        history = order["payment_history"]
        if len(history) != 1 or history[0]["transaction_type"] != "payment":
            message = "There should be exactly one payment for a pending order"
            raise ToolError(message, "already_modified", error_hints.ONE_PAYMENT)
        old_id, amount = history[0]["payment_method_id"], history[0]["amount"]
        if old_id == payment_method_id:
            message = "The new payment method should be different from the current one"
            raise ToolError(message, "same_payment_method", error_hints.SAME_METHOD)
        _check_balance(method, amount, "order")
        old_method = _method(db, user_id, old_id)
        changed = db.edit("orders", order_id)
        changed["payment_history"] += [entry("payment", amount, payment_method_id), entry("refund", amount, old_id)]
        credit(db, user_id, method, -amount)
        credit(db, user_id, old_method, amount)
        return changed

    @tool(
        effect="write",
        reads=(ORDER, METHODS, NEW_ITEMS),
        writes=("orders/*/status", "orders/*/items", *MOVES_MONEY),
        render=SHOW_ORDER,
        always_changes=True,
    )
    def modify_pending_order_items(
        self, db: Draft, order_id: str, item_ids: list[str], new_item_ids: list[str], payment_method_id: str
    ) -> Row:
        """Swap items of a pending order for other variants of the same products. This works once per order.

        Collect everything the customer wants to change first, tell them the price difference, and get an explicit yes
        before you call this. Each new item takes the place of the old one, with its own price and options. The
        difference comes at the end of the payment history: a payment if the new items cost more, else a refund, as an
        amount that is never negative; the balance of a gift card moves at once. The result is the order, with the
        status 'pending (item modified)'; it can be neither cancelled nor swapped again afterwards.

        Args:
            order_id: The order's id with its leading '#', such as '#W1234567'.
            item_ids: Item ids to replace; an id that is in the order twice may be given twice.
            new_item_ids: Item ids to put in their place, in the same order, each a variant of the same product.
            payment_method_id: Which payment method pays, or gets back, the price difference.
        """
        order = _order(db, order_id, "pending", "modified")
        swap = plan_swaps(db, order, item_ids, new_item_ids, absent="{} not found", must_differ=True, tau2=self.tau2)
        method = _method(db, order["user_id"], payment_method_id)
        _check_balance(method, swap.difference, "new item")
        changed = db.edit("orders", order_id)
        kind = "payment" if swap.difference > 0 else "refund"
        changed["payment_history"].append(entry(kind, abs(swap.difference), payment_method_id))
        credit(db, order["user_id"], method, -swap.difference)
        apply_swap(changed["items"], swap, tau2=self.tau2)
        changed["status"] = MODIFIED
        return changed

    @tool(
        effect="write", reads=("users/{user_id}",), writes=("users/*/address",), render=SHOW_USER, always_changes=True
    )
    def modify_user_address(
        self, db: Draft, user_id: str, address1: str, address2: str, city: str, state: str, country: str, zip: str
    ) -> Row:
        """Change a customer's default address. Orders that exist keep theirs.

        Tell the customer the new address and get an explicit yes before you call this. The result is the profile.

        Args:
            user_id: The customer's id, such as 'alba_duarte_1234'.
            address1: Street and number, such as '12 Foundry Way'.
            address2: Apartment, suite or unit, such as 'Apt 3'; '' if there is none.
            city: City, such as 'Boise'.
            state: Two-letter state, such as 'ID'.
            country: Country, such as 'USA'.
            zip: Postal code, such as '83702'.
        """
        _need(db, "users", user_id)
        address = UserAddress(address1=address1, address2=address2, city=city, country=country, state=state, zip=zip)
        changed = db.edit("users", user_id)
        changed["address"] = address.model_dump()
        return changed

    @tool(
        effect="write",
        reads=(ORDER, METHODS),
        writes=("orders/*/status", "orders/*/return_items", "orders/*/return_payment_method_id"),
        render=SHOW_ORDER,
        always_changes=True,
    )
    def return_delivered_order_items(
        self, db: Draft, order_id: str, item_ids: list[str], payment_method_id: str
    ) -> Row:
        """Request the return of items of a delivered order. An order takes one return or one exchange.

        Tell the customer which items go back and where the refund goes, and get an explicit yes before you call this.
        The customer gets an email on how to send the items; no money moves yet. The result is the order, with the
        status 'return requested' and the return items sorted by id.

        Args:
            order_id: The order's id with its leading '#', such as '#W1234567'.
            item_ids: Item ids to return; an id that is in the order twice may be given twice.
            payment_method_id: Where the refund goes: the payment method the order was paid with, or a gift card.
        """
        order = _order(db, order_id, "delivered", "returned")
        method = _method(db, order["user_id"], payment_method_id)
        if not is_gift_card(method) and payment_method_id != order["payment_history"][0]["payment_method_id"]:
            message = "Payment method should be the original payment method"
            raise ToolError(message, "not_original_payment", error_hints.REFUND)
        check_items(order, item_ids, "Some item not found")
        if not item_ids and not self.tau2:
            raise ToolError("Some item not found", "not_found", error_hints.NO_ITEMS)
        changed = db.edit("orders", order_id)
        changed["status"] = "return requested"
        changed["return_items"] = sorted(item_ids)
        changed["return_payment_method_id"] = payment_method_id
        return changed

    @tool(
        effect="write",
        reads=(ORDER, METHODS, NEW_ITEMS),
        writes=(
            "orders/*/status",
            "orders/*/exchange_items",
            "orders/*/exchange_new_items",
            "orders/*/exchange_payment_method_id",
            "orders/*/exchange_price_difference",
        ),
        render=SHOW_ORDER,
        always_changes=True,
    )
    def exchange_delivered_order_items(
        self, db: Draft, order_id: str, item_ids: list[str], new_item_ids: list[str], payment_method_id: str
    ) -> Row:
        """Request the exchange of items of a delivered order for other variants of the same products.

        An order takes one return or one exchange, so collect everything first. Tell the customer the price difference
        and get an explicit yes before you call this. The customer gets an email on how to send the items back; no new
        order is needed, and no money moves yet. The result is the order, with the status 'exchange requested', the
        exchange items and the exchange new items each sorted by id, and the exchange price difference: what the new
        items cost more, in dollars and cents, negative if they cost less.

        Args:
            order_id: The order's id with its leading '#', such as '#W1234567'.
            item_ids: Item ids to send back; an id that is in the order twice may be given twice.
            new_item_ids: Item ids wanted instead, in the same order, each a variant of the same product.
            payment_method_id: Which payment method pays, or gets back, the price difference.
        """
        order = _order(db, order_id, "delivered", "exchanged")
        swap = plan_swaps(db, order, item_ids, new_item_ids, absent="Number of {} not found.", stop=".", tau2=self.tau2)
        difference = round(swap.difference, 2)
        method = _method(db, order["user_id"], payment_method_id)
        _check_balance(method, difference, "price difference")
        changed = db.edit("orders", order_id)
        changed["status"] = "exchange requested"
        changed["exchange_items"] = sorted(item_ids)
        changed["exchange_new_items"] = sorted(new_item_ids)
        changed["exchange_payment_method_id"] = payment_method_id
        changed["exchange_price_difference"] = difference
        return changed


def _need(db: Draft, table: str, key: object) -> Row:
    row = db.get(table, key) if isinstance(key, str) else None
    if row is None:
        raise absent(key, f"{table.removesuffix('s').capitalize()} not found", error_hints.ABSENT[table])
    return row


def _order(db: Draft, order_id: object, status: str, what: str, *others: str) -> Row:
    """An order, which must have this status or one of some others to be changed in this way."""
    order = _need(db, "orders", order_id)
    if order["status"] not in (status, *others):
        why = error_hints.status(order, status, what)
        raise ToolError(f"Non-{status} order cannot be {what}", "wrong_status", why)
    return order


def _method(db: Draft, user_id: str, payment_method_id: object) -> Row:
    user = _need(db, "users", user_id)
    check_hashable(payment_method_id)
    method: Row | None = user["payment_methods"].get(payment_method_id)
    if method is None:
        raise ToolError("Payment method not found", "not_found", error_hints.METHOD)
    return method


def _check_balance(method: Row, amount: float, what: str) -> None:
    """A gift card must hold an amount."""
    if is_gift_card(method) and method["balance"] < amount:
        message = f"Insufficient gift card balance to pay for the {what}"
        raise ToolError(message, "insufficient_balance", error_hints.BALANCE)


show = renderer_of(RetailWorld)
load_benchmark = partial(data.load, domain="retail", world=RetailWorld)
