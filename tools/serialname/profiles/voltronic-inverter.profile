[Profile]
About=Solar inverter of Voltronic's make (Axpert, MPP Solar): asks for its protocol with QPI
Speed=2400
Send="QPI\xbe\xac\r"
Listen=1s
Expect=\(PI[0-9]{2}..\r
Sum=xmodem
