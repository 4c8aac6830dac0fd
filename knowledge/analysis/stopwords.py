"""Words that carry no topic, in the spelling that `canonical` gives them."""

_DE = """
aber alle allem allen aller alles als also am an andere anderem anderen anderer anderes auch auf aus bei beim
bin bis bist bitte da dabei dadurch dafür dagegen daher damit danach dann daran darauf darf darüber darum das
dass davon dazu dein deine deinem deinen deiner dem den denen denn der deren des deshalb dessen dich die dies
diese diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines einige einmal er es
etwa etwas euch euer eure für gegen gibt hab habe haben hast hat hatte hätte hier hin hinter ich ihm ihn ihnen
ihr ihre ihrem ihren ihrer im in ins ist ja jede jedem jeden jeder jedes jemand jetzt kann kannst können
könnte lassen lässt machen mache macht man manche mein meine meinem meinen meiner meines mich mir mit muss
müssen nach nicht nichts noch nun nur ob obwohl oder ohne sehr sein seine seinem seinen seiner seit selbst
sich sie sind so sobald solche soll sollen sollte sollten sondern sonst sowie trotzdem über um und uns unser
unsere unter viel vom von vor während war waren warum was weder wegen weil welche welchem welchen welcher
welches wem wen wenn wer werde werden weshalb wie wieder wieso will wir wird wirst wo wobei wodurch wofür
wohin womit woran worauf woraus worin würde würden zu zum zur zwar zwischen schon dadurch mal
"""

_EN = """
a about after again all also am an and any are as at be because been before being between both but by can
cannot could did do does doing don down during each few for from further had has have having he her here hers
him his how i if in into is it its itself just let ll me more most my myself no nor not now of off on once
only or other our ours out over own please re s same she should so some such t than that the their theirs them
then there these they this those through to too under until up ve very was we were what when where which while
who whom why will with would you your yours
"""

_RU = """
а без более бы был была были было быть в вам вас весь во вот все всего всех всю вы где да даже для до его ее
ей если есть еще же за здесь и из или им их к как какая какие какой когда которая которые который кто ли либо
мне может можно мой моя мы на надо над нас наш не него нее нет ни них но ну о об однако он она они оно от
очень по под после потому почему при про с сам свой себя со так также такой там те тем то тогда того тоже той
только том ты у уже чего чем что чтобы эта эти это этого этой этом этот я делать
"""

STOPWORDS: dict[str, frozenset[str]] = {
    "de": frozenset(_DE.split()),
    "en": frozenset(_EN.split()),
    "ru": frozenset(_RU.split()),
}
