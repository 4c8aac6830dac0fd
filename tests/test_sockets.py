"""Sockets at addresses where nothing is."""

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", ["", "ws/", "ws/assistant", "ws/nothing/here/"])
def test_a_socket_at_an_unknown_address_is_turned_away(site, path):
    address = site.replace("http:", "ws:", 1)
    with pytest.raises(InvalidStatus) as refused, connect(f"{address}/{path}", origin=Origin(site)):
        pass
    assert refused.value.response.status_code == 403
