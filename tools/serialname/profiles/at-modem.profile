[Profile]
About=Modem that understands AT commands
Speed=115200 9600
Send="AT\r"
Listen=1s
Expect=(?:^|[\r\n])(?:OK|0)\r
