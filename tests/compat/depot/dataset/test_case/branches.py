from thinkingbox.common import Judge, TestContext

"""!
scenario: two
"""


def helper(x):
    """Not a task: its text is no YAML."""
    return x.effects


def the_later_server_answers(x: TestContext, judge: Judge):
    """!
    query: Which depot is this?
    init:
      depot:
        golden_test_case:
          tool_interactions:
          - {tool: who, parameters: {}}
    """
    assert x.tool_calls[0].tool_response.content == "branch"
    assert list(helper(x)) == ["depot", "branch"]
    assert x.effects["branch"]["state"]["items"] == {"rope": 5}


def test_a_program_that_is_no_module(x: TestContext, judge: Judge):
    """!
    scenario: loose
    query: I am Kim. The saw, please.
    init:
      loose:
        golden_test_case:
          tool_interactions:
          - {tool: lend, parameters: {item: saw, to: Kim}}
    """
    assert x.effects["loose"]["state"] == x.effects["loose"]["expected"]
