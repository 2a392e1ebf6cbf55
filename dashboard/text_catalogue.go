package dashboard

// catalogueTexts are the texts of the page about the types of events, and those
// of webhook.Catalog.
var catalogueTexts = texts{
	"Each is a POST to your endpoint, with the body and the headers below.": {"Mỗi thông báo là một POST đến điểm nhận của bạn, với nội dung và tiêu đề bên dưới.", "每个通知都是发往您端点的 POST，带有下列正文和请求头。"},
	"On this page": {"Trên trang này", "本页内容"}, "Headers": {"Tiêu đề", "请求头"}, "Header": {"Tiêu đề", "请求头"}, "A good answer": {"Phản hồi tốt", "正确的响应"},
	"When it is sent again": {"Khi nào được gửi lại", "何时重发"}, "Order and duplicates": {"Thứ tự và trùng lặp", "顺序与重复"},
	"The members of data": {"Các trường của data", "data 的成员"}, "Kind": {"Kiểu", "类型"}, "also as": {"còn gọi là", "亦作"}, "may be empty": {"có thể trống", "可能为空"},
	"the RSA signature of all the others, in base64":                 {"chữ ký RSA của mọi trường khác, dạng base64", "其余所有成员的 RSA 签名，base64"},
	"The RSA signature of data stands beside data here, not inside.": {"Ở đây chữ ký RSA của data nằm cạnh data, không ở bên trong.", "此处 data 的 RSA 签名位于 data 旁，而非其内。"},
	"Life cycle": {"Vòng đời", "生命周期"}, "first seen": {"lần đầu", "首次出现"}, "then": {"rồi", "然后"},
	"These are the usual moves. Take any status that is listed, whatever came before.": {"Đây là các bước thường gặp. Hãy nhận mọi trạng thái được liệt kê, bất kể trước đó là gì.", "这些是通常的变化。无论之前如何，请接受所列的任何状态。"},
	"Example": {"Ví dụ", "示例"},
	"Examples are spread over lines. A body comes on one line, its members sorted and without white space (RFC 8785).": {
		"Ví dụ được trải ra nhiều dòng. Nội dung thật đến trên một dòng, các trường được sắp xếp, không khoảng trắng (RFC 8785).", "示例分行显示。实际正文为一行，成员已排序且无空白（RFC 8785）。"},
	"Any status 2xx. Its body does not matter, unless the endpoint's ackMode asks for it.": {"Bất kỳ mã 2xx. Nội dung không quan trọng, trừ khi ackMode của điểm nhận đòi hỏi.", "任何 2xx 状态。正文无关紧要，除非端点的 ackMode 要求。"},
	"Within %s, the connection included. Answer first, work afterwards.":                   {"Trong vòng %s, kể cả thời gian kết nối. Hãy trả lời trước, xử lý sau.", "%s 内（含连接时间）。先响应，再处理。"},
	"Answer when the notification is stored: after a 2xx it is not sent again.":            {"Hãy trả lời khi đã lưu thông báo: sau 2xx nó không được gửi lại.", "通知保存后再响应：2xx 之后不会重发。"},
	"No redirect: they are not followed.":                                                  {"Không chuyển hướng: cổng không đi theo.", "不要重定向：网关不会跟随。"},
	"410 twice in a row disables the endpoint. 429 and 503 may say Retry-After.":           {"410 hai lần liên tiếp sẽ tắt điểm nhận. 429 và 503 có thể kèm Retry-After.", "连续两次 410 会停用端点。429 和 503 可带 Retry-After。"},
	"After any other answer, or none, up to %d attempts in about %s. The first is made at once; these are the waits before the others, up to a fifth more or less:": {
		"Sau mọi phản hồi khác, hoặc không có, tối đa %d lần thử trong khoảng %s. Lần đầu được gửi ngay; đây là thời gian chờ trước các lần sau, hơn kém một phần năm:", "其他响应或无响应时，最多 %d 次尝试，历时约 %s。首次立即进行；以下是其后各次之前的等待，上下浮动五分之一："},
	"Not by itself: there is one attempt, made at once.":                                                          {"Không tự gửi lại: chỉ có một lần thử, được gửi ngay.", "不会自动重发：仅有一次尝试，立即进行。"},
	"An endpoint that fails again and again is left alone for a while by its breaker; nothing is lost meanwhile.": {"Điểm nhận lỗi liên tục sẽ được bộ ngắt mạch tạm để yên; trong lúc đó không mất gì.", "反复失败的端点会被熔断器暂停一段时间；期间不会丢失任何内容。"},
	"A notification may come more than once, with the same webhook-id and the same bytes. Keep the ids that you have worked on.": {
		"Một thông báo có thể đến nhiều lần, với cùng webhook-id và cùng các byte. Hãy lưu các id đã xử lý.", "同一通知可能多次到达，webhook-id 和字节相同。请保存已处理的 id。"},
	"No order is promised. Compare createdAt, or sequence for orders, before an older status takes a newer one's place.": {
		"Không bảo đảm thứ tự. Hãy so createdAt, hoặc sequence với đơn hàng, trước khi để trạng thái cũ thay trạng thái mới.", "不保证顺序。请比较 createdAt（订单比较 sequence），以免旧状态覆盖新状态。"},
	"An endpoint that is set to ordered gets one notification of a card, account or order at a time.": {"Điểm nhận đặt chế độ giữ thứ tự nhận mỗi lần một thông báo của một thẻ, tài khoản hoặc đơn.", "设为有序的端点，每张卡、每个账户或订单一次只收到一个通知。"},
	"A gap in Ledgerhook-Sequence is one that you have not got yet.":                                  {"Khoảng trống trong Ledgerhook-Sequence là thông báo bạn chưa nhận.", "Ledgerhook-Sequence 中的空缺是您尚未收到的通知。"},

	"text, an id": {"văn bản, một mã", "文本，编号"}, "text": {"văn bản", "文本"}, "text, one of": {"văn bản, một trong", "文本，取其一"}, "text, a masked number": {"văn bản, số đã che", "文本，掩码号码"},
	"text, RFC 3339 in UTC": {"văn bản, RFC 3339 theo UTC", "文本，RFC 3339 UTC"}, "number": {"số", "数字"}, "number, seconds since 1970": {"số, giây từ 1970", "数字，自 1970 年的秒数"}, "object": {"đối tượng", "对象"}, "list of objects": {"danh sách đối tượng", "对象列表"},
	"the event's id, the same in every attempt":                                         {"mã sự kiện, giống nhau trong mọi lần thử", "事件编号，每次尝试相同"},
	"when this attempt was made, in seconds since 1970 UTC":                             {"thời điểm của lần thử, giây từ 1970 UTC", "本次尝试的时间，自 1970 年 UTC 的秒数"},
	"v1 signatures by your secrets, a blank between them: that of a retiring one first": {"các chữ ký v1 bằng khóa bí mật của bạn, cách nhau một dấu cách: của khóa sắp ngừng trước", "由您的密钥生成的 v1 签名，以空格分隔：即将停用的在前"},
	"always the same": {"luôn như nhau", "始终相同"}, "who sends": {"bên gửi", "发送方"}, "the type, before you parse the body": {"loại, trước khi bạn phân tích nội dung", "类型，无需先解析正文"},
	"counts the attempts of this delivery from 1":                       {"đếm các lần thử của lượt gửi này từ 1", "本次投递的尝试计数，从 1 开始"},
	"the gateway's key that made the RSA signature":                     {"khóa của cổng đã tạo chữ ký RSA", "生成 RSA 签名的网关密钥"},
	"counts the deliveries of an endpoint without gaps; not with tests": {"đếm liên tục các lượt gửi của một điểm nhận; không có trong thông báo thử", "端点投递的连续计数；测试不带"},

	"A card was created, or could not be.": {"Một thẻ đã được tạo, hoặc không tạo được.", "卡已创建，或创建失败。"}, "A card was used, charged or refunded.": {"Một thẻ được dùng, bị trừ phí hoặc được hoàn tiền.", "卡被使用、扣费或退款。"},
	"A cash-out order changed after its creation.": {"Một đơn rút tiền thay đổi sau khi tạo.", "提现订单在创建后发生变化。"}, "Money was put on a card, or is about to be.": {"Tiền đã được nạp vào thẻ, hoặc sắp nạp.", "卡已充值，或即将充值。"},
	"The identity check of an account moved on.": {"Việc xác minh danh tính của tài khoản đã tiến triển.", "账户的身份验证有进展。"},
	"VND for one token":                          {"số VND cho một token", "每个代币的 VND 价格"},
	"a code, a Vietnamese and an English text, separated by \" | \"; empty if there is none": {"mã, văn bản tiếng Việt và tiếng Anh, cách nhau bằng \" | \"; trống nếu không có", "代码、越南语和英语文本，以 \" | \" 分隔；没有则为空"},
	"a note on the order; may be empty": {"ghi chú của đơn; có thể trống", "订单备注；可能为空"}, "amount and fees in VND": {"số tiền và phí bằng VND", "金额与费用（VND）"},
	"counts the order's notifications: 1, 2, 3": {"đếm thông báo của đơn: 1, 2, 3", "订单通知计数：1、2、3"}, "how many tokens": {"số token", "代币数量"},
	"the account": {"tài khoản", "账户"}, "the amount of the fee": {"số tiền phí", "费用金额"}, "the amount of the order in VND": {"số tiền của đơn bằng VND", "订单金额（VND）"},
	"the amount of the transaction": {"số tiền giao dịch", "交易金额"}, "the amount paid to the customer so far in VND": {"số tiền đã trả cho khách đến nay bằng VND", "至今已付给客户的金额（VND）"},
	"the amount put on the card": {"số tiền nạp vào thẻ", "充入卡的金额"}, "the card": {"thẻ", "卡"}, "the card's number, masked": {"số thẻ, đã che", "掩码后的卡号"}, "the cryptocurrency": {"tiền mã hóa", "加密货币"},
	"the currency of the fee": {"loại tiền của phí", "费用币种"}, "the customer's account": {"tài khoản của khách", "客户账号"}, "the customer's bank": {"ngân hàng của khách", "客户银行"}, "the customer's name at the bank": {"tên khách tại ngân hàng", "客户在银行的姓名"},
	"the event": {"sự kiện", "事件"}, "the fee of processing": {"phí xử lý", "处理费"}, "the fee of the top-up": {"phí nạp tiền", "充值费"}, "the fees in VND": {"các khoản phí bằng VND", "费用（VND）"}, "the fees one by one": {"từng khoản phí", "逐项费用"},
	"the holder's first name": {"tên của chủ thẻ", "持卡人名"}, "the holder's last name": {"họ của chủ thẻ", "持卡人姓"}, "the kind of the fee": {"loại phí", "费用类别"}, "the kind of the order": {"loại đơn", "订单类别"}, "the kind of the transaction": {"loại giao dịch", "交易类别"},
	"the money the customer gets": {"số tiền khách nhận", "客户收到的款项"}, "the network of the token": {"mạng của token", "代币网络"}, "the partner's id of the order": {"mã đơn của đối tác", "合作伙伴的订单号"}, "the sum of the fees": {"tổng phí", "费用合计"},
	"the system's fee": {"phí hệ thống", "系统费"}, "the text of the transfer": {"nội dung chuyển khoản", "转账附言"}, "the token movement; empty until it is known": {"giao dịch token; trống cho đến khi biết", "代币转移；未知时为空"},
	"the tokens the partner gives": {"số token đối tác giao", "合作伙伴交付的代币"}, "the top-up": {"lần nạp tiền", "充值"}, "the transaction": {"giao dịch", "交易"}, "the wallet of the token movement": {"ví của giao dịch token", "代币转移的钱包"},
	"what became of the card": {"kết quả của thẻ", "卡的结果"}, "what the transaction was for": {"mục đích giao dịch", "交易用途"}, "when it happened, in seconds since 1970 UTC": {"thời điểm xảy ra, giây từ 1970 UTC", "发生时间，自 1970 年 UTC 的秒数"},
	"when the order expires unless a payout has started": {"thời điểm đơn hết hạn nếu chưa chi trả", "未开始付款时订单的过期时间"}, "when the order was created": {"thời điểm tạo đơn", "订单创建时间"}, "where it stood before": {"trạng thái trước đó", "之前的状态"},
	"where the identity check stands": {"trạng thái xác minh danh tính", "身份验证状态"}, "where the order stands": {"trạng thái đơn", "订单状态"}, "where the top-up stands": {"trạng thái nạp tiền", "充值状态"}, "where the transaction stands": {"trạng thái giao dịch", "交易状态"},
}
