[Profile]
About=Anything that prints text by itself, as boards do when their port is opened
Speed=115200 9600
Listen=3s
# --expect says which text it must be.
Expect=[ -~]{4,}[\r\n]
