"""A session through the client that openapi-python-client generates. Arguments: the daemon's URL and token."""

import sys

from generated.api.sessions import create_session, get_events, get_session, post_message, reply_permission
from generated.client import AuthenticatedClient
from generated.models import (
    CreateSessionRequest,
    CreateSessionResponse,
    EventsResponse,
    ItemCompletedEvent,
    ItemDeltaEvent,
    ItemEventData,
    ItemStartedEvent,
    MessageRequest,
    PermissionReply,
    PermissionReplyRequest,
    PermissionRequestedEvent,
    SessionDetail,
    SessionStartedEvent,
    TextContentPart,
    TurnEndedEvent,
    TurnStartedEvent,
)

SESSION = "generated"
client = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2], raise_on_unexpected_status=True)
created = create_session.sync(SESSION, client=client, body=CreateSessionRequest(agent="mock"))
assert isinstance(created, CreateSessionResponse) and created.healthy, created
post_message.sync_detailed(SESSION, client=client, body=MessageRequest(message="[[permission]] [[text]]"))

after, seen, text = 0, {}, ""
while TurnEndedEvent not in seen:
    page = get_events.sync(SESSION, client=client, offset=after)
    assert isinstance(page, EventsResponse), page
    for event in page.events:
        after = event.sequence
        seen[type(event)] = seen.get(type(event), 0) + 1
        if isinstance(event, PermissionRequestedEvent):
            reply = PermissionReplyRequest(reply=PermissionReply.ONCE)
            reply_permission.sync_detailed(SESSION, event.data.permission_id, client=client, body=reply)
        elif isinstance(event, (ItemStartedEvent, ItemCompletedEvent)):
            assert isinstance(event.data, ItemEventData), event
            parts = event.data.item.content if isinstance(event, ItemCompletedEvent) else []
            text += "".join(part.text for part in parts if isinstance(part, TextContentPart))
        elif isinstance(event, ItemDeltaEvent):
            assert isinstance(event.data.delta, str), event
assert {SessionStartedEvent, TurnStartedEvent, ItemStartedEvent, ItemCompletedEvent} <= set(seen), seen

detail = get_session.sync(SESSION, client=client)
assert isinstance(detail, SessionDetail) and detail.session_id == SESSION, detail
assert detail.event_count >= after and detail.pending == [], detail
print(text)
print("all done")
