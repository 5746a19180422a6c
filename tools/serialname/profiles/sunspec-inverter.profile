[Profile]
About=Solar inverter with SunSpec Modbus (SMA, Fronius, SolarEdge), unit 126 or 1: asks for the mark at register 40000
Speed=9600 19200
Send="\x7e\x03\x9c\x40\x00\x02\xe0\x40"
Send="\x01\x03\x9c\x40\x00\x02\xeb\x8f"
Listen=600ms
Expect=[\x7e\x01]\x03\x04SunS..
Sum=modbus
