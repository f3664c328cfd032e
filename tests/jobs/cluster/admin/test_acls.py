"""ACL bindings: in Kafka's words both ways, and no authorizer is not "no binding"."""

import pytest
from kio.schema.create_acls.v2 import response as created
from kio.schema.describe_acls.v2 import response as described
from kio.schema.errors import ErrorCode

from jobs.cluster.admin.acls import AclBinding, create_acls, describe_acls
from jobs.cluster.errors import NotAuthorized
from tests.jobs.cluster.admin.asking import NEW_APIS, ask
from tests.jobs.cluster.protocol.fake_broker import NOW, FakeBroker

BINDING = AclBinding("TOPIC", "PREFIXED", "orders", "User:shop", "*", "READ", "ALLOW")


def answer(error="none", *resources):
    return described.DescribeAclsResponse(
        throttle_time=NOW,
        error_code=ErrorCode[error],
        error_message=None,
        resources=resources,
    )


def resource(operation=3):
    acl = described.AclDescription(
        principal="User:shop", host="*", operation=operation, permission_type=3
    )
    return described.DescribeAclsResource(
        resource_type=2, resource_name="orders", pattern_type=4, acls=(acl,)
    )


@pytest.mark.parametrize(
    ("told", "found"),
    [
        pytest.param(answer("none", resource()), [BINDING], id="a binding"),
        pytest.param(answer(), [], id="no binding"),
        pytest.param(answer("security_disabled"), None, id="no authorizer"),
    ],
)
async def test_bindings_are_told_in_kafkas_words(told, found):
    async with FakeBroker() as broker:
        broker.answers[NEW_APIS["describe_acls"]] = told
        assert await ask(broker, describe_acls) == found
        (asked,) = broker.of(NEW_APIS["describe_acls"])
    assert (asked.resource_type_filter, asked.pattern_type_filter) == (2, 1)
    assert (asked.operation, asked.permission_type) == (1, 1)


async def test_an_operation_of_a_later_kafka_is_unknown_and_no_failure():
    async with FakeBroker() as broker:
        broker.answers[NEW_APIS["describe_acls"]] = answer("none", resource(operation=99))
        assert [one.operation for one in await ask(broker, describe_acls)] == ["UNKNOWN"]


async def test_a_principal_that_may_not_read_them_is_a_fault_that_names_the_right():
    async with FakeBroker() as broker:
        broker.answers[NEW_APIS["describe_acls"]] = answer("cluster_authorization_failed")
        with pytest.raises(NotAuthorized) as caught:
            await ask(broker, describe_acls)
    assert "may not DESCRIBE the cluster" in caught.value.message


async def test_bindings_are_created_and_each_has_its_answer():
    other = AclBinding("GROUP", "LITERAL", "g", "User:shop", "*", "READ", "DENY")
    async with FakeBroker() as broker:
        broker.answers[NEW_APIS["create_acls"]] = created.CreateAclsResponse(
            throttle_time=NOW,
            results=tuple(
                created.AclCreationResult(error_code=ErrorCode[error], error_message="no")
                for error in ("none", "invalid_request")
            ),
        )
        found = await ask(broker, create_acls, [BINDING, other])
        first, second = broker.of(NEW_APIS["create_acls"])[0].creations
    assert found[BINDING] is None
    assert "no" in found[other].message
    assert (first.resource_type, first.resource_pattern_type, first.operation) == (2, 4, 3)
    assert (second.resource_type, second.permission_type) == (3, 2)
