"""``halfmask bargain``."""

from halfmask.cli.output import print_rows
from halfmask.commands.bargain import BargainOptions
from halfmask.commands.bargain import bargain as negotiate


def bargain(options: BargainOptions) -> None:
    """Alternating offers between the consumer and the producers' vote, ending in a setting and a reward, or why not."""
    found = negotiate(options)
    rows = [["round", "producers ask for", "consumer asks for", "reward", "consumer offers", "would accept", "answer"]]
    for each in found.rounds:
        asked = [f"privacy {each.delta:+.3f}", f"utility {each.c:+.3f}", f"{each.reward:.3g}"]
        offered = ["-", "-"] if each.offered is None else [each.offered, f"{each.accepted_by:.2%}"]
        rows.append([str(each.number), *asked, *offered, each.answered or "-"])
    print_rows(rows)
    if found.deal is None:
        print(f"No deal: {found.reason}.")
    else:
        deal = found.deal
        what = f"{deal.setting.id} ({deal.setting.setting}) for {deal.reward:.3g} a report"
        print(f"Deal: {what}, accepted by the {deal.accepted_by}.")
