package dashboard

// endpointsTexts are the texts of the pages about endpoints, of what was signed
// for a delivery, and of what is refused there.
var endpointsTexts = texts{
	"Your endpoints are tested too often: at most %d times a minute, and %d tests on their way to an endpoint at once. Wait a little and test again.": {"Các điểm nhận của bạn được thử quá thường xuyên: tối đa %d lần một phút, và cùng lúc %d lượt thử trên đường đến một điểm nhận. Hãy đợi một chút rồi thử lại.", "对您的端点测试过于频繁：每分钟最多 %d 次，每个端点同时最多 %d 个测试在途。请稍候再试。"},

	"The URLs of your receivers. Each gets every notification whose type it takes.": {"URL của các bên nhận. Mỗi URL nhận mọi thông báo thuộc loại đã chọn.", "您的接收方 URL。每个端点接收其所选类型的全部通知。"},
	"Add an endpoint": {"Thêm điểm nhận", "添加端点"}, "Change an endpoint": {"Sửa điểm nhận", "修改端点"}, "Remove an endpoint": {"Xóa điểm nhận", "删除端点"},
	"You have %s endpoints, which is the most. Remove one to add another.": {"Bạn có %s điểm nhận, là mức tối đa. Hãy xóa một điểm để thêm điểm khác.", "您已有 %s 个端点，达到上限。请先删除一个再添加。"},
	"Takes": {"Nhận", "接收类型"}, "Waiting": {"Đang chờ", "等待中"}, "Last success": {"Thành công gần nhất", "最近成功"}, "never": {"chưa bao giờ", "从未"},
	"nothing was sent yet": {"chưa gửi gì", "尚未发送"}, "No endpoint yet": {"Chưa có điểm nhận", "尚无端点"},
	"Until you add one, notifications are held and none is lost. The first endpoint that takes them gets them in their order.": {
		"Cho đến khi bạn thêm điểm nhận, thông báo được giữ lại và không mất. Điểm đầu tiên nhận loại đó sẽ được gửi theo thứ tự.", "在您添加之前，通知会被暂留，不会丢失。第一个接收该类型的端点将按顺序收到它们。"},
	"all event types": {"mọi loại sự kiện", "所有事件类型"}, "no limit": {"không giới hạn", "不限"}, "%s a second": {"%s mỗi giây", "每秒 %s 次"},
	"any 2xx": {"bất kỳ mã 2xx", "任意 2xx"}, "2xx with JSON that does not say success: false": {"2xx với JSON không có success: false", "2xx 且 JSON 中没有 success: false"},
	"partner disabled": {"đối tác bị vô hiệu hóa", "合作伙伴已停用"}, "breaker open": {"ngắt mạch mở", "熔断已打开"}, "breaker closed": {"ngắt mạch đóng", "熔断已闭合"}, "breaker on probation": {"ngắt mạch đang thăm dò", "熔断探测中"},

	"Your account is disabled by the gateway's operators: deliveries are held until it is enabled.": {
		"Tài khoản của bạn bị người vận hành vô hiệu hóa: lượt gửi được giữ cho đến khi bật lại.", "您的账户已被网关运维人员停用：恢复之前投递会被暂留。"},
	"The gateway disabled this endpoint: %s. Repair the receiver, then resume: what was held goes out.": {
		"Cổng đã tắt điểm nhận này: %s. Hãy sửa bên nhận rồi tiếp tục: những gì được giữ sẽ được gửi.", "网关已停用此端点：%s。请修复接收方后恢复：暂留的内容会发出。"},
	"This endpoint is disabled. Repair the receiver, then resume: what was held goes out.": {
		"Điểm nhận này đã bị tắt. Hãy sửa bên nhận rồi tiếp tục: những gì được giữ sẽ được gửi.", "此端点已停用。请修复接收方后恢复：暂留的内容会发出。"},
	"This endpoint is paused. Its deliveries are held and counted; resume, and they go out in order.": {
		"Điểm nhận này đang tạm dừng. Lượt gửi được giữ và đếm; khi tiếp tục, chúng được gửi theo thứ tự.", "此端点已暂停。投递会被暂留并计数；恢复后按顺序发出。"},
	"The gateway's operators hold deliveries back until further notice.": {"Người vận hành cổng tạm giữ các lượt gửi cho đến khi có thông báo mới.", "网关运维人员暂时扣留投递，直至另行通知。"},
	"Too many attempts failed, so deliveries wait and use no attempts up. One of them is tried every now and then; three that succeed open the way for the rest.": {
		"Quá nhiều lần thử thất bại nên các lượt gửi đang chờ và không tốn lượt thử. Thỉnh thoảng một lượt được thử; ba lượt thành công sẽ mở đường cho phần còn lại.",
		"失败次数过多，投递处于等待状态且不消耗尝试次数。系统会不时试发一个；连续三个成功后其余的恢复发送。"},

	"The endpoint is saved. Notifications that it takes go to it from now on.": {"Điểm nhận đã được lưu. Từ giờ các thông báo phù hợp sẽ được gửi đến đây.", "端点已保存。今后符合类型的通知会发往此处。"},
	"The changes are saved. Every attempt from now on uses them.":              {"Đã lưu thay đổi. Mọi lần thử từ giờ sẽ dùng chúng.", "更改已保存。此后的每次尝试都会使用。"},
	"The endpoint is paused. What comes for it is held.":                       {"Điểm nhận đã tạm dừng. Những gì đến sẽ được giữ.", "端点已暂停。发往它的内容会被暂留。"},
	"The endpoint is resumed. What was held goes out now.":                     {"Điểm nhận đã tiếp tục. Những gì được giữ đang được gửi.", "端点已恢复。暂留的内容正在发出。"},
	"The endpoint is removed. What waited for it is cancelled.":                {"Điểm nhận đã bị xóa. Những gì chờ nó đã bị hủy.", "端点已删除。等待它的投递已取消。"},
	"The endpoint is saved, and a test event was sent to it.":                  {"Điểm nhận đã được lưu và một sự kiện thử đã được gửi.", "端点已保存，并已向其发送测试事件。"},
	"The changes are saved, and a test event was sent.":                        {"Đã lưu thay đổi và gửi một sự kiện thử.", "更改已保存，并已发送测试事件。"},
	"The test event is sent.":                                                  {"Sự kiện thử đã được gửi.", "测试事件已发送。"},
	"This was done already: the form was sent before. Nothing was done twice.": {"Việc này đã được làm: biểu mẫu đã được gửi trước đó. Không có gì làm hai lần.", "此操作已完成：表单之前已提交，没有重复执行。"},

	"How it is reached": {"Đường đi đến bên nhận", "到达情况"}, "By the newest attempt": {"Theo lần thử mới nhất", "依据最近一次尝试"}, "Nothing was sent to it yet": {"Chưa gửi gì đến đây", "尚未向其发送"},
	"Send a test event: what happens on the way appears here step by step.": {"Hãy gửi một sự kiện thử: từng bước trên đường đi sẽ hiện ở đây.", "发送测试事件：途中的每一步会显示在这里。"},
	"Pause": {"Tạm dừng", "暂停"}, "Resume": {"Tiếp tục", "恢复"}, "Change": {"Sửa", "修改"}, "Send a test event": {"Gửi sự kiện thử", "发送测试事件"},
	"An example of the type you choose, signed like every notification, goes to this endpoint alone: once, also while it is paused. You see the answer and the very bytes that were signed.": {
		"Một ví dụ thuộc loại bạn chọn, được ký như mọi thông báo, chỉ gửi đến điểm nhận này: một lần, kể cả khi đang tạm dừng. Bạn thấy phản hồi và đúng các byte đã ký.",
		"您所选类型的示例会像所有通知一样签名，只发往此端点：仅一次，暂停时也会发送。您可以看到响应和所签的确切字节。"},
	"At the same time": {"Cùng lúc", "并发"}, "%s under way of %s just now; it grows to %s": {"%s đang gửi trên %s hiện tại; tăng đến %s", "进行中 %s，当前上限 %s，可增至 %s"},
	"Rate": {"Tốc độ", "速率"}, "Order": {"Thứ tự", "顺序"}, "kept for each subject": {"giữ theo từng đối tượng", "按对象保持"}, "none is promised": {"không bảo đảm", "不保证"},
	"Counts as taken": {"Được coi là đã nhận khi", "视为已接收"}, "Custom headers": {"Tiêu đề tùy chỉnh", "自定义请求头"}, "none": {"không có", "无"}, "Failing since": {"Lỗi từ", "失败始于"},
	"Tried again": {"Thử lại", "再次尝试"}, "Changed": {"Sửa lúc", "修改时间"}, "Remove this endpoint…": {"Xóa điểm nhận này…", "删除此端点…"},

	"URL": {"URL", "URL"}, "https, a public host name, port 443 or 8443. Its name and addresses are checked when you save.": {
		"https, tên máy chủ công khai, cổng 443 hoặc 8443. Tên và địa chỉ được kiểm tra khi bạn lưu.", "https、公网主机名、端口 443 或 8443。保存时会检查名称和地址。"},
	"Description": {"Mô tả", "说明"}, "For your people: what it is for.": {"Cho người của bạn: dùng để làm gì.", "供您的成员了解其用途。"},
	"Tick none to get every type, those to come as well.": {"Không chọn gì để nhận mọi loại, kể cả các loại sau này.", "不勾选则接收所有类型，包括将来新增的。"},
	"Delivery and custom headers":                         {"Cách gửi và tiêu đề tùy chỉnh", "投递方式与自定义请求头"},
	"Deliveries at the same time, at most":                {"Số lượt gửi cùng lúc, tối đa", "同时投递数上限"}, "1 to %s. It begins with 2 and grows with success.": {"1 đến %s. Bắt đầu từ 2 và tăng khi thành công.", "1 至 %s。从 2 开始，随成功增加。"},
	"0 is no limit; %s is the highest.": {"0 là không giới hạn; cao nhất là %s.", "0 表示不限；最高 %s。"}, "Keep the order of each subject": {"Giữ thứ tự theo từng đối tượng", "保持每个对象的顺序"},
	"One notification at a time for each card, account or order: the next waits until the one before has ended.": {
		"Mỗi lần một thông báo cho mỗi thẻ, tài khoản hoặc đơn: thông báo sau chờ thông báo trước kết thúc.", "每张卡、每个账户或订单一次只发一个通知：下一个等待前一个结束。"},
	"Sent with every attempt, for a credential of your own for example. Values are kept sealed and never shown again.": {
		"Được gửi trong mọi lần thử, ví dụ cho thông tin xác thực của riêng bạn. Giá trị được niêm phong và không hiển thị lại.", "每次尝试都会发送，例如您自己的凭证。值会加密保存，不再显示。"},
	"Take out": {"Bỏ", "移除"}, "Value": {"Giá trị", "值"}, "Check it with a signed test event": {"Kiểm tra bằng một sự kiện thử đã ký", "用已签名的测试事件检查"},
	"You see step by step how far it gets: host name, public address, connection, certificate, answer. A receiver that does not answer yet is saved all the same.": {
		"Bạn thấy từng bước nó đi được đến đâu: tên máy chủ, địa chỉ công khai, kết nối, chứng chỉ, phản hồi. Bên nhận chưa trả lời vẫn được lưu.",
		"您会逐步看到进展：主机名、公网地址、连接、证书、响应。接收方尚未响应时也会照常保存。"},
	"Nothing is saved yet: look at what is marked below.": {"Chưa lưu gì: hãy xem những chỗ được đánh dấu bên dưới.", "尚未保存：请查看下方标记之处。"},

	"Remove %s?": {"Xóa %s?", "删除 %s？"}, "What happens then": {"Điều gì sẽ xảy ra", "之后会发生什么"},
	"Deliveries that wait for it end as cancelled: %s just now. They are not sent to another endpoint.": {
		"Lượt gửi đang chờ sẽ bị hủy: hiện có %s. Chúng không được gửi đến điểm nhận khác.", "等待它的投递会被取消：目前 %s 个。不会改发其他端点。"},
	"No delivery waits for it just now.": {"Hiện không có lượt gửi nào chờ.", "目前没有等待它的投递。"},
	"Those under way, %s just now, end with the attempt that is running; none is retried.": {
		"Những lượt đang gửi, hiện %s, kết thúc với lần thử đang chạy; không thử lại.", "进行中的 %s 个会随当前尝试结束，不再重试。"},
	"No delivery is under way to it just now.": {"Hiện không có lượt nào đang gửi đến đây.", "目前没有正在发往它的投递。"},
	"It is your only endpoint: notifications from now on are held until you add another one.": {
		"Đây là điểm nhận duy nhất: từ giờ thông báo được giữ cho đến khi bạn thêm điểm khác.", "这是您唯一的端点：此后通知会被暂留，直到您添加另一个。"},
	"Your other endpoints go on as they are.":                                      {"Các điểm nhận khác tiếp tục như cũ.", "您的其他端点不受影响。"},
	"What was delivered stays in the list of deliveries until its retention ends.": {"Những gì đã gửi vẫn nằm trong danh sách lượt gửi đến hết thời hạn lưu giữ.", "已送达的内容会保留在投递列表中，直到保留期结束。"},
	"It cannot be undone. To stop for a while, pause it instead: then everything is held and nothing is cancelled.": {
		"Không thể hoàn tác. Nếu chỉ muốn dừng một lúc, hãy tạm dừng: mọi thứ được giữ và không bị hủy.", "无法撤销。如只想暂停一段时间，请改用暂停：一切都会暂留，不会取消。"},
	"Remove it for good": {"Xóa vĩnh viễn", "永久删除"}, "Keep it": {"Giữ lại", "保留"},

	"Host name": {"Tên máy chủ", "主机名"}, "Public address": {"Địa chỉ công khai", "公网地址"}, "Connection": {"Kết nối", "连接"}, "TLS and certificate": {"TLS và chứng chỉ", "TLS 与证书"}, "Answer to the POST": {"Phản hồi cho POST", "对 POST 的响应"},
	"in order": {"ổn", "正常"}, "fails": {"lỗi", "失败"}, "not reached": {"chưa đến", "未到达"}, "not checked": {"chưa kiểm tra", "未检查"}, "no TLS": {"không có TLS", "无 TLS"}, "soon": {"sắp hết hạn", "即将到期"}, "Gateway": {"Cổng", "网关"},
	"The gateway itself could not send it. Nothing can be said of the receiver.": {"Chính cổng không gửi được. Chưa thể nói gì về bên nhận.", "网关自身未能发送，无法判断接收方。"},
	"%s was found in %s.": {"Đã tìm thấy %s trong %s.", "已找到 %s，用时 %s。"}, "%s was found.": {"Đã tìm thấy %s.", "已找到 %s。"},
	"The URL names an address itself; nothing is looked up.":               {"URL ghi sẵn địa chỉ; không cần tra tên.", "URL 直接使用地址，无需解析。"},
	"It may be reached: %s.":                                               {"Được phép truy cập: %s.", "允许访问：%s。"},
	"a private address":                                                    {"một địa chỉ nội bộ", "内网地址"},
	"The receiver takes connections; this one took %s.":                    {"Bên nhận chấp nhận kết nối; lần này mất %s.", "接收方接受连接，本次用时 %s。"},
	"The receiver takes connections; one that was open was used again.":    {"Bên nhận chấp nhận kết nối; đã dùng lại một kết nối đang mở.", "接收方接受连接，复用了已打开的连接。"},
	"Plain http, which is allowed in the operators' own networks only.":    {"http không mã hóa, chỉ được phép trong mạng của người vận hành.", "明文 http，仅允许用于运维方自己的网络。"},
	"%s. The certificate ends on %s, in %s.":                               {"%s. Chứng chỉ hết hạn ngày %s, còn %s.", "%s。证书于 %s 到期，还剩 %s。"},
	"%s. The certificate lasts until %s, for %s more.":                     {"%s. Chứng chỉ có hạn đến %s, còn %s.", "%s。证书有效期至 %s，还有 %s。"},
	"Renew the certificate: without a valid one nothing can be delivered.": {"Hãy gia hạn chứng chỉ: không có chứng chỉ hợp lệ thì không gửi được gì.", "请续期证书：没有有效证书将无法投递。"},
	"%s after %s.": {"%s sau %s.", "%s，用时 %s。"},

	"What was signed": {"Nội dung đã ký", "签名内容"}, "Test event": {"Sự kiện thử", "测试事件"}, "What came of it": {"Kết quả", "结果"}, "Look again": {"Xem lại", "再看一次"}, "%s bytes": {"%s byte", "%s 字节"}, "Signature": {"Chữ ký", "签名"},
	"The text of the RSA signature": {"Văn bản của chữ ký RSA", "RSA 签名的文本"}, "The text of webhook-signature": {"Văn bản của webhook-signature", "webhook-signature 的文本"},
	"data without its signature, in the form of RFC 8785: these bytes and nothing else. SHA-256 with RSA, PKCS#1 v1.5; the signature stands in the body's %s.": {
		"data không kèm chữ ký, theo dạng RFC 8785: đúng các byte này và không gì khác. SHA-256 với RSA, PKCS#1 v1.5; chữ ký nằm ở %s của nội dung.",
		"不含签名的 data，采用 RFC 8785 形式：仅这些字节。SHA-256 与 RSA，PKCS#1 v1.5；签名位于正文的 %s。"},
	"webhook-id, a dot, webhook-timestamp, a dot, and the body. HMAC-SHA-256 with your webhook secret; with two secrets there are two tokens, and one that matches is enough.": {
		"webhook-id, dấu chấm, webhook-timestamp, dấu chấm và nội dung. HMAC-SHA-256 với khóa bí mật webhook của bạn; có hai khóa thì có hai phần, khớp một là đủ.",
		"webhook-id、点、webhook-timestamp、点和正文。使用您的 webhook 密钥做 HMAC-SHA-256；有两个密钥时有两个令牌，匹配其一即可。"},
	"It is made at each attempt, from the time of it. It appears here when there was one.": {"Được tạo ở mỗi lần thử, theo thời điểm của nó. Sẽ hiện ở đây khi có lần thử.", "每次尝试时按当时的时间生成。有过尝试后会显示在这里。"},
	"The body as it is sent":            {"Nội dung đúng như khi gửi", "实际发送的正文"},
	"The headers of the newest attempt": {"Tiêu đề của lần thử mới nhất", "最近一次尝试的请求头"},
	"*** stands for the value of a custom header, which is not kept. User-Agent, Host and Content-Length are sent besides.": {
		"*** thay cho giá trị của tiêu đề tùy chỉnh, không được lưu. Ngoài ra còn gửi User-Agent, Host và Content-Length.", "*** 代表自定义请求头的值，不予保存。另外还会发送 User-Agent、Host 和 Content-Length。"},

	"the delivery never had an endpoint":                                         {"lượt gửi này chưa từng có điểm nhận", "该投递从未有过端点"},
	"the delivery's endpoint was removed":                                        {"điểm nhận của lượt gửi đã bị xóa", "该投递的端点已被删除"},
	"the delivery's event is past its retention and gone":                        {"sự kiện của lượt gửi đã quá thời hạn lưu giữ và không còn", "该投递的事件已超过保留期限，不复存在"},
	"a test is sent once: send another":                                          {"thông báo thử chỉ gửi một lần: hãy gửi một thông báo khác", "测试只发送一次：请另发一次"},
	"the delivery is being sent just now: wait for the attempt to end":           {"lượt gửi đang được gửi: hãy đợi lần thử kết thúc", "该投递正在发送：请等待本次尝试结束"},
	"the delivery has ended already: it is %s":                                   {"lượt gửi đã kết thúc: %s", "该投递已结束：%s"},
	"the delivery moved on meanwhile: try again":                                 {"lượt gửi vừa thay đổi trong lúc đó: hãy thử lại", "该投递其间已变化：请重试"},
	"the replay is %s and cannot become %s":                                      {"lượt gửi lại đang ở trạng thái %s và không thể chuyển sang %s", "该重发的状态为 %s，不能变为 %s"},
	"the username %s is taken: choose another one":                               {"tên đăng nhập %s đã có người dùng: hãy chọn tên khác", "用户名 %s 已被使用：请另选一个"},
	"there is no delivery %s":                                                    {"không có lượt gửi %s", "没有投递 %s"},
	"there is no replay %s":                                                      {"không có lượt gửi lại %s", "没有重发 %s"},
	"there is no endpoint %s":                                                    {"không có điểm nhận %s", "没有端点 %s"},
	"there is no event %s":                                                       {"không có sự kiện %s", "没有事件 %s"},
	"there is no secret %s":                                                      {"không có khóa bí mật %s", "没有密钥 %s"},
	"there is no person %s":                                                      {"không có người dùng %s", "没有成员 %s"},
	"there is no invitation %s":                                                  {"không có lời mời %s", "没有邀请 %s"},
	"there is no session %s":                                                     {"không có phiên %s", "没有会话 %s"},
	"must be a URL like https://partner.example.com/hook":                        {"phải là URL như https://partner.example.com/hook", "必须是 https://partner.example.com/hook 这样的 URL"},
	"must be at most %s bytes long":                                              {"dài tối đa %s byte", "最长 %s 字节"},
	"must begin with https://":                                                   {"phải bắt đầu bằng https://", "必须以 https:// 开头"},
	"must not hold a user name or password: use a custom header for credentials": {"không được chứa tên người dùng hoặc mật khẩu: hãy dùng tiêu đề tùy chỉnh", "不得包含用户名或密码：请用自定义请求头传递凭证"},
	"must not hold a fragment: take out the # and what follows it":               {"không được có phần sau dấu #: hãy bỏ # và phần theo sau", "不得包含片段：请去掉 # 及其后的内容"},
	"must use a port from 1 to 65535":                                            {"phải dùng cổng từ 1 đến 65535", "端口必须在 1 至 65535 之间"},
	"must use port 443 or 8443":                                                  {"phải dùng cổng 443 hoặc 8443", "必须使用端口 443 或 8443"},
	"must name its host by a valid DNS name: letters, digits and hyphens between dots, 63 characters per part and 253 in all at most": {
		"phải ghi máy chủ bằng tên DNS hợp lệ: chữ cái, chữ số và gạch nối giữa các dấu chấm, tối đa 63 ký tự mỗi phần và 253 tổng cộng",
		"主机必须是有效的 DNS 名称：点之间为字母、数字和连字符，每段最多 63 个字符，总共最多 253 个"},
	"must name its host by a DNS name, not by an address in a short, octal or hexadecimal form": {
		"phải ghi máy chủ bằng tên DNS, không phải địa chỉ dạng rút gọn, bát phân hay thập lục phân", "主机必须是 DNS 名称，不能是简写、八进制或十六进制形式的地址"},
	"must name its host by a DNS name, not by an address":                                {"phải ghi máy chủ bằng tên DNS, không phải địa chỉ", "主机必须是 DNS 名称，不能是地址"},
	"must name its host by a full DNS name with a dot, like partner.example.com":         {"phải ghi máy chủ bằng tên DNS đầy đủ có dấu chấm, như partner.example.com", "主机必须是带点的完整 DNS 名称，如 partner.example.com"},
	"must name a host on the public internet: no public DNS serves names that end in %s": {"phải là máy chủ trên internet công cộng: không DNS công cộng nào phục vụ tên kết thúc bằng %s", "必须是公网主机：没有公共 DNS 提供以 %s 结尾的名称"},
	"must resolve to public addresses only, which %s does not":                           {"phải chỉ trỏ đến địa chỉ công khai, còn %s thì không", "只能解析到公网地址，而 %s 不是"},
	"must have names of at most %s letters, digits and hyphens":                          {"tên phải gồm tối đa %s chữ cái, chữ số và gạch nối", "名称最多 %s 个字母、数字和连字符"},
	"must not be set: the gateway or HTTP itself decides on it":                          {"không được đặt: do cổng hoặc chính HTTP quyết định", "不得设置：由网关或 HTTP 自身决定"},
	"must have a value of at most %s printable ASCII characters":                         {"giá trị phải gồm tối đa %s ký tự ASCII in được", "值最多 %s 个可打印 ASCII 字符"},
	"must be at most %s headers":                                                         {"tối đa %s tiêu đề", "最多 %s 个请求头"},
	"must have %s once, in whatever case":                                                {"%s chỉ được có một lần, không phân biệt hoa thường", "%s 只能出现一次，不区分大小写"},
	"must be 1 to %s deliveries a second, or 0 for no limit":                             {"phải là 1 đến %s lượt gửi mỗi giây, hoặc 0 nếu không giới hạn", "必须是每秒 1 至 %s 次投递，或 0 表示不限"},
	"must be 1 to %s": {"phải từ 1 đến %s", "必须是 1 至 %s"},
	"must be %s to %s, or 0 for the gateway's own": {"phải từ %s đến %s, hoặc 0 để dùng mức của cổng", "必须是 %s 至 %s，或 0 表示使用网关的设置"},
	"An attempt may take":                          {"Một lần thử được phép kéo dài", "单次尝试时限"}, "Seconds an attempt may take": {"Số giây cho một lần thử", "单次尝试的秒数"},
	"%s to %s, or 0 for the gateway's own. The answer must come within it.": {
		"%s đến %s, hoặc 0 để dùng mức của cổng. Phản hồi phải đến trong thời gian đó.", "%s 至 %s，0 表示使用网关的设置。响应须在此时间内到达。"},
	"must be a whole number":                                            {"phải là số nguyên", "必须是整数"},
	"must be at most %s characters":                                     {"tối đa %s ký tự", "最多 %s 个字符"},
	"must not hold control characters":                                  {"không được chứa ký tự điều khiển", "不得包含控制字符"},
	"the partner has %s endpoints, which is the most: remove one first": {"đã có %s điểm nhận, là mức tối đa: hãy xóa một điểm trước", "已有 %s 个端点，达到上限：请先删除一个"},
	"the endpoint has %s unfinished deliveries: order can be switched on while there are at most %s": {
		"điểm nhận có %s lượt gửi chưa xong: chỉ bật được thứ tự khi có tối đa %s lượt", "端点有 %s 个未完成的投递：不超过 %s 个时才能启用顺序"},
	"somebody else has changed it since you opened this form: open it again": {"người khác đã sửa từ khi bạn mở biểu mẫu này: hãy mở lại", "自您打开此表单后已有人修改：请重新打开"},
	"is missing: load the page again and send it from there":                 {"bị thiếu: hãy tải lại trang và gửi từ đó", "缺失：请重新加载页面后提交"},
}
