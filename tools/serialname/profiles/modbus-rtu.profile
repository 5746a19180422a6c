[Profile]
About=Modbus RTU, unit 1: asks for holding register 0, takes an exception for an answer
Speed=9600 19200
Send="\x01\x03\x00\x00\x00\x01\x84\x0a"
Listen=500ms
Expect=\x01(?:\x03\x02..|\x83.)..
Sum=modbus
