package dashboard

// secretsTexts are the texts of the page about webhook secrets.
var secretsTexts = texts{
	"Webhook secrets": {"Khóa bí mật webhook", "Webhook 密钥"}, "Secret": {"Khóa bí mật", "密钥"}, "Its id": {"Mã của khóa", "密钥编号"},
	"Your receivers verify the header webhook-signature with them. Rotating one is safe: old and new sign together for 24 hours.": {
		"Bên nhận dùng chúng để kiểm tra tiêu đề webhook-signature. Đổi khóa là an toàn: khóa cũ và mới cùng ký trong 24 giờ.", "接收方用它们验证请求头 webhook-signature。轮换是安全的：新旧密钥会同时签名 24 小时。"},
	"Create a secret": {"Tạo khóa bí mật", "创建密钥"}, "Your new secret": {"Khóa bí mật mới của bạn", "您的新密钥"},
	"It is shown this once. Put it where your receivers read it, now: nobody can show it again.": {"Chỉ hiển thị lần này. Hãy đưa nó vào bên nhận ngay: không ai có thể hiển thị lại.", "仅显示这一次。请立即放到接收方读取的位置：之后任何人都无法再次显示。"},
	"When every receiver accepts it beside the old one, activate it below.":                      {"Khi mọi bên nhận đã chấp nhận nó cùng khóa cũ, hãy kích hoạt bên dưới.", "当所有接收方都同时接受它和旧密钥后，请在下方激活。"},

	"Changing a secret in four steps": {"Đổi khóa trong bốn bước", "四步更换密钥"}, "Create": {"Tạo", "创建"}, "Install": {"Cài đặt", "部署"}, "Activate": {"Kích hoạt", "激活"}, "Clean up": {"Dọn dẹp", "清理"},
	"A new secret is made and shown once. It signs nothing yet.": {"Khóa mới được tạo và hiển thị một lần. Nó chưa ký gì.", "生成新密钥并显示一次。它尚不签名。"},
	"Make your receivers accept the old and the new one: a notification counts if either verifies.": {
		"Cho bên nhận chấp nhận cả khóa cũ và mới: thông báo hợp lệ nếu một trong hai khớp.", "让接收方同时接受新旧密钥：任一验证通过即有效。"},
	"From now on both sign, for 24 hours. Look whether your receivers still take everything.": {"Từ giờ cả hai cùng ký, trong 24 giờ. Hãy xem bên nhận có còn nhận mọi thứ không.", "此后两者同时签名 24 小时。请确认接收方仍正常接收。"},
	"Take the old one out of your receivers, then revoke it here or let it end by itself.":    {"Bỏ khóa cũ khỏi bên nhận, rồi thu hồi ở đây hoặc để nó tự hết hạn.", "从接收方移除旧密钥，然后在此吊销或等它自动失效。"},

	"Secrets that sign, or will": {"Khóa đang ký hoặc sẽ ký", "正在或将要签名的密钥"}, "Revoked secrets": {"Khóa đã thu hồi", "已吊销的密钥"}, "No secret": {"Chưa có khóa", "没有密钥"},
	"Create one: without it the header webhook-signature cannot be made.": {"Hãy tạo một khóa: không có nó thì không tạo được tiêu đề webhook-signature.", "请创建一个：没有它无法生成请求头 webhook-signature。"},
	"Activated": {"Kích hoạt lúc", "激活时间"}, "Ends": {"Hết hạn", "失效时间"}, "retiring": {"sắp ngừng", "即将停用"}, "revoked": {"đã thu hồi", "已吊销"},
	"Signs nothing yet. Put it into your receivers beside the old one, then activate it.": {"Chưa ký gì. Hãy đưa nó vào bên nhận cạnh khóa cũ, rồi kích hoạt.", "尚不签名。请将其与旧密钥一起放入接收方，然后激活。"},
	"Signs every notification. Your receivers must know it.":                              {"Ký mọi thông báo. Bên nhận phải biết khóa này.", "签署所有通知。接收方必须持有它。"},
	"Still signs beside the active one, for %s more. Take it out of your receivers, then revoke it or let it end by itself.": {
		"Vẫn ký cùng khóa đang dùng, còn %s. Hãy bỏ nó khỏi bên nhận, rồi thu hồi hoặc để tự hết hạn.", "仍与当前密钥一起签名，还有 %s。请从接收方移除它，然后吊销或等它自动失效。"},
	"Signs nothing more. No receiver needs it.": {"Không còn ký gì. Không bên nhận nào cần nó.", "不再签名。接收方不再需要它。"},
	"Activate it now": {"Kích hoạt ngay", "立即激活"}, "Discard": {"Bỏ khóa này", "丢弃"}, "Discard it": {"Bỏ ngay", "确认丢弃"}, "Revoke": {"Thu hồi", "吊销"}, "Revoke it now": {"Thu hồi ngay", "立即吊销"},
	"It signs every notification from now on. The one before signs beside it for 24 hours, so a receiver that knows either goes on.": {
		"Từ giờ nó ký mọi thông báo. Khóa trước ký cùng trong 24 giờ, nên bên nhận biết một trong hai vẫn hoạt động.", "此后由它签署所有通知。之前的密钥再一起签名 24 小时，因此持有任一密钥的接收方都能继续工作。"},
	"It has signed nothing yet, so no receiver needs it.": {"Nó chưa ký gì nên không bên nhận nào cần.", "它尚未签名，接收方并不需要它。"},
	"From now on it signs nothing: a receiver that knows this one alone refuses every notification. Make sure that all know the new one.": {
		"Từ giờ nó không ký nữa: bên nhận chỉ biết khóa này sẽ từ chối mọi thông báo. Hãy chắc chắn tất cả đã biết khóa mới.", "此后它不再签名：只持有它的接收方会拒绝所有通知。请确认所有接收方都已持有新密钥。"},
	"The new secret signs from now on, and the one before beside it for 24 hours.": {"Khóa mới ký từ giờ, khóa trước ký cùng trong 24 giờ.", "新密钥即刻开始签名，之前的密钥再一起签名 24 小时。"},
	"The secret signs nothing more.":                                               {"Khóa này không còn ký gì.", "该密钥不再签名。"},
	"created the secret":                                                           {"đã tạo khóa", "创建了密钥"}, "activated the secret": {"đã kích hoạt khóa", "激活了密钥"}, "revoked the secret": {"đã thu hồi khóa", "吊销了密钥"},

	"the partner has %s pending secrets: activate or revoke one first":              {"đã có %s khóa đang chờ: hãy kích hoạt hoặc thu hồi một khóa trước", "已有 %s 个待激活的密钥：请先激活或吊销一个"},
	"only a pending secret can be activated; %s is %s":                              {"chỉ kích hoạt được khóa đang chờ; %s ở trạng thái %s", "只能激活待激活的密钥；%s 的状态为 %s"},
	"the active secret cannot be revoked: create and activate another one first":    {"không thể thu hồi khóa đang dùng: hãy tạo và kích hoạt khóa khác trước", "不能吊销正在使用的密钥：请先创建并激活另一个"},
	"this secret was shown already, once: create another one if you do not have it": {"khóa này đã được hiển thị một lần: nếu bạn không có, hãy tạo khóa khác", "此密钥已显示过一次：如果没有保存，请另行创建"},
}
