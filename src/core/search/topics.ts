import { stem } from "./words.ts";

/** What people ask tools about: topics between bars. "airquality" also matches "air quality". */
const topics = `
stock share equity market invest portfolio ticker dividend earnings broker trading trader nasdaq etf fund hedge bond yield index futures option | crypto cryptocurrency bitcoin ethereum blockchain
token coin wallet nft defi dapp gas mint web3 solana altcoin dogecoin litecoin binance coinbase | bank account loan mortgage credit debit interest deposit debt lend borrow repayment savings transfer
balance transaction iban swift lender | payment invoice bill checkout refund charge subscription receipt stripe paypal card payout chargeback merchant transaction | money budget expense income salary
tax finance financial cost spend wage revenue profit accounting fiscal expenditure bookkeeping payroll deduction | currency exchange rate dollar euro usd eur pound yen forex convert gold silver metal
gbp jpy cny rupee xau yuan peso franc remittance monetary | economy gdp inflation unemployment trade export import recession macroeconomic fiscal imf tariff growth poverty | shop product buy purchase
store retail order cart catalog brand item merchandise amazon ebay ecommerce seller marketplace buyer customer bestseller | discount coupon deal sale promo promotion voucher cashback bargain cheap
offer price saving clearance promocode pricedrop | fashion clothes outfit dress wear shoe shirt style wardrobe apparel jacket jeans sneaker pants handbag jewelry necklace ring watch accessory | beauty
makeup cosmetic skin skincare hair perfume lipstick salon nail lotion shampoo serum fragrance manicure tattoo | food eat meal dish recipe cook cuisine ingredient bake dinner lunch breakfast dessert
kitchen chef vegan vegetarian soup pasta steak pizza burger | restaurant dining diner cafe bar pub eatery menu takeout reservation table yelp eat brunch waiter buffet foodie | drink beverage cocktail
wine beer sake coffee tea whisky brewery liquor juice whiskey vodka rum tequila smoothie bartender brew | nutrition diet calorie protein carbohydrate vitamin nutrient fat healthy macro fiber weight
bmi keto sugar sodium cholesterol weightloss obesity | grocery supermarket produce vegetable fruit meat bread milk | fitness exercise workout gym muscle training yoga running bodybuilding cardio
stretch squat pushup marathon athlete steps cycling pilates | health medical doctor patient hospital disease symptom treatment medicine clinical diagnosis illness clinic drug pharmacy vaccine covid
virus | mental stress anxiety depression mood meditation mindfulness sleep wellness emotion therapist relax psychology counseling burnout happy sad lonely | travel trip vacation holiday tour tourism
tourist destination itinerary journey visit sightseeing attraction beach getaway backpack visa passport | flight airline airport plane aircraft aviation fly airfare pilot boarding departure arrival
iata layover runway airspace cabin airways takeoff | hotel accommodation stay lodging hostel resort airbnb room booking inn suite motel guest checkin overnight bed cabin villa | train railway bus
metro subway transit station tram ferry timetable rail commute amtrak busstop platform | car vehicle auto automobile drive driver motor truck motorcycle engine fuel mileage tire sedan parking
dealership mechanic brake suv vin garage | taxi ride uber lyft carpool rental scooter bike bicycle | map location address place coordinate latitude longitude geocode gps navigation route direction
distance nearby near closest area region postcode | weather forecast temperature rain snow wind humidity storm climate sunny cloud precipitation celsius heatwave fog thunderstorm umbrella fahrenheit |
environment carbon emission pollution sustainability recycle green eco footprint co2 airquality aqi climate deforestation biodiversity ecosystem | disaster earthquake hurricane flood wildfire tsunami
volcano emergency alert seismic | astronomy space planet star galaxy nasa moon asteroid satellite solar telescope orbit rocket mars lunar universe constellation comet spacecraft | physics velocity
force energy mass gravity acceleration momentum electric magnetic voltage circuit wave thermodynamics kinetic friction quantum | chemistry chemical molecule compound element reaction atom acid molar
solution periodic ph hydrogen oxygen enzyme | biology gene genetic dna protein cell species organism evolution genome sequence bacteria mutation anatomy microbiology ecology chromosome botany | math
equation algebra calculus geometry triangle circle integral derivative matrix vector number arithmetic polynomial prime root factorial theorem | statistics probability mean median deviation regression
variance correlation distribution hypothesis sample | research paper academic scholar scientific journal publication article study citation bibliography bibtex thesis arxiv peerreviewed pubmed |
science scientist experiment laboratory physics chemistry biology theory discovery | course learn education student teacher school university class lesson tutorial study college tutor training exam
quiz curriculum lecture degree | language translate english spanish french german chinese japanese vocabulary fluent bilingual pronunciation foreign italian portuguese russian | word dictionary
definition synonym meaning grammar rhyme spelling thesaurus antonym phrase sentence vocabulary etymology idiom noun verb adjective | write essay paragraph draft rewrite proofread paraphrase rephrase
polish blog author content copywriting edit text writer tone grammar plagiarism | resume cv coverletter job career hire recruit employment interview position vacancy candidate talent work unemployed
applicant internship profession | email mail inbox gmail outlook newsletter recipient attachment message spam smtp | chat message sms whatsapp telegram slack discord conversation messenger channel |
phone call telephone mobile sms number contact voicemail dial | socialmedia twitter tweet instagram facebook tiktok linkedin post follower hashtag influencer reddit feed like profile viral subreddit
timeline | marketing advertising ad campaign audience brand advertisement promote engagement conversion ppc traffic outreach leadgeneration adwords slogan | seo keyword ranking searchengine backlink
website visibility serp optimization google organic crawl metatag competitor traffic audience titletag | website web site page landing homepage html deploy publish hosting wordpress builder css url
webpage ecommerce frontend webdesign blog domain | domain dns whois registrar hostname tld subdomain ssl certificate | network ip address ping server port proxy bandwidth router wifi internet latency
subnet isp speed packet vpn dns | security vulnerability password hack threat malware attack encryption breach cve phishing antivirus firewall cybersecurity hacker ransomware exploit | code
programming developer software python javascript java function debug algorithm script library api snippet compile bug refactor typescript php | repository github git commit branch issue pullrequest
merge codereview gitlab | database sql query table record row column postgres mysql schema mongodb | data dataset analytics insight csv dashboard report metric bi statistic trend pattern benchmark
survey demographic | chart graph plot diagram visualization pie histogram flowchart mindmap bar line scatter heatmap gantt infographic mermaid | file folder directory document upload download rename
storage path copy move | pdf document ocr scan page extract read summarize docx report contract highlight upload handwriting | spreadsheet excel sheet cell row column worksheet csv | presentation
slide powerpoint deck slideshow keynote | image photo picture photograph camera filter crop resize background pixel visual snapshot portrait jpeg png jpg brightness contrast face selfie | design art
drawing illustration logo graphic artist paint sketch artwork gallery museum sculpture template banner poster mockup ui ux figma canva | color palette hue rgb hex shade | video youtube clip footage
stream animation subtitle edit vimeo recording watch channel vlog tutorial caption livestream reel shorts film | movie film cinema actor director tv show series episode netflix stream watch season
hulu imdb theater documentary anime cinematic hollywood disney | music song album artist band playlist lyric concert spotify track genre singer melody guitar piano chord instrument tune musician rap
jazz rock pop | audio voice speech sound podcast transcribe microphone narration listen speak tts dictate recording noise vocal | book novel author read library fiction story literature ebook poem
bookstore publisher chapter paperback readers memoir bestselling novelist fantasy | story tale fairy bedtime storytelling narrative character plot fable fairytale protagonist hero myth legend | news
headline article journalist newspaper currentaffairs press breaking media report event bulletin bbc cnn latest coverage newsletter | politics government election president vote congress senate policy
democracy parliament minister candidate voter campaign mayor republican democrat | law legal lawyer attorney court case lawsuit judge regulation legislation contract statute patent trademark defendant
plaintiff verdict trial | crime police criminal arrest theft murder prison justice fraud violence victim homicide burglary detective | realestate property house apartment rent rental home landlord
tenant mortgage bedroom listing condo buy lease realtor villa bathroom squarefootage | home furniture repair decor interior kitchen renovation appliance plumbing cleaning room household handyman
bathroom flooring wall tile gutter roof | plant garden flower tree soil grow seed lawn indoor houseplant fertilizer bloom botanical vegetable herb greenhouse rose | animal pet dog cat bird horse fish
wildlife zoo breed veterinary puppy kitten vet bunny hamster mammal predator species reptile | sport team player match league game score tournament championship athlete coach season baseball
volleyball badminton boxing wrestling mma ufc | football soccer goal nfl fifa premier league club quarterback touchdown striker messi ronaldo fixture manchester laliga bundesliga | basketball nba
baseball mlb hockey nhl cricket tennis golf rugby inning lebron lakers yankees pitcher dunk | race f1 formula driver cycling olympic marathon | game play player gamer level steam xbox playstation
esports multiplayer console minecraft quest fortnite pokemon nintendo rpg videogame mmorpg | chess checkers board move opponent checkmate puzzle crossword sudoku grandmaster rook pawn bishop go
anagram hangman wordle | quiz trivia riddle puzzle question answer fun brain teaser brainteaser | lottery gambling bet casino odds poker jackpot dice card | event concert ticket festival show
conference meetup venue party exhibition performance theater broadway theatre stadium comedy opera celebration | gift present birthday christmas anniversary surprise card holiday valentine | wedding
date romantic love relationship partner couple bride marriage girlfriend boyfriend husband wife spouse | family child kid baby parent mother father toddler infant newborn pregnancy daughter son
teenager teen kindergarten preschool grandparent | religion bible god church prayer verse quran faith spiritual islam christian scripture hindu buddhist pope mosque temple psalm jewish | horoscope
zodiac astrology tarot fortune sign birth natal fate destiny aries taurus gemini leo virgo libra scorpio sagittarius capricorn aquarius | joke humor funny meme laugh comedy | company business
corporation firm industry organization enterprise employee ceo competitor headquarters executive merger acquisition subsidiary | startup funding venture founder investor pitch seed raise valuation
accelerator entrepreneur unicorn incubator fundraising series crunchbase | sales lead crm customer prospect pipeline client outreach salesperson hubspot salesforce deal quota revenue | customer
support service ticket helpdesk feedback complaint review satisfaction testimonial rating inquiry refund chatbot agent | task todo project deadline assign milestone kanban jira sprint workflow
progress team productivity asana trello gantt organize backlog | calendar appointment meeting schedule event reminder availability invite booking rsvp slot agenda weekly | time date timezone clock
hour minute day week month year today tomorrow utc gmt duration elapsed countdown noon midnight | note memory remember save recall diary journal store notebook notion evernote bookmark remind
knowledge flashcard | decision choose goal plan habit strategy | ai chatgpt gpt prompt chatbot bot model agent llm assistant machinelearning neural openai artificial intelligence deeplearning
generative nlp | search web internet google browse online query engine lookup bing information wikipedia duckduckgo keyword | link url qr shorten barcode redirect | summary keypoint abstract tldr
condense highlight gist outline recap overview keytakeaway | server cloud aws deploy container docker kubernetes instance azure infrastructure virtual host vm cluster compute bucket gcp devops nginx |
log monitor error metric trace alert uptime incident debug performance | automation workflow trigger integration zapier connect webhook | device sensor smart light thermostat iot switch lamp heating |
ship delivery package parcel tracking courier freight carrier cargo logistics warehouse postal mail fedex ups dhl usps container | boat ocean sea dive scuba marine surf sailing vessel swim beach tide
yacht coral reef snorkel fishing ferry port harbor cruise divesite | hike trail camp outdoor mountain park nature ski climb nationalpark hiker tent backpacking snowboard waterfall lake forest |
insurance policy claim premium coverage | charity donate nonprofit volunteer cause | history century war ancient civilization battle revolution era monarch king queen empire worldwar medieval timeline
archaeology | country city capital population state continent nation europe asia africa america world governmental region territory populous | person name celebrity biography famous birthday gender |
unit convert meter mile kilogram pound length inch celsius fahrenheit kg lbs ounce gallon liter feet measurement | random generate uuid string number | hash encode decode encrypt base64 cipher | user
login account authentication permission role username sign | themepark disney attraction ride queue waiting amusement rollercoaster universalstudios orlando parks | jobpost freelance contractor gig
remote work | government agency tax permit public official census | farm agriculture crop farmer livestock harvest | energy electricity power solar gas oil petrol fuel battery turbine nuclear
renewable grid electric charging gasoline | review rating opinion testimonial feedback recommend | art culture museum exhibition heritage | construction building engineer architecture concrete
structural architect blueprint beam contractor`;

/** How much a topic counts beside a word. */
export const topicWeight = 0.5;

const none: readonly string[] = [];
const byWord = new Map<string, string[]>();

/** The topics of a stemmed word, as words of no text: "bitcoin" and "blockchain" share one. */
export function topicsOf(word: string): readonly string[] {
  if (byWord.size === 0) {
    for (const [at, topic] of topics.split("|").entries()) {
      for (const each of new Set(topic.trim().split(/\s+/).map(stem)))
        byWord.set(each, [...(byWord.get(each) ?? none), `#${at}`]);
    }
  }
  return byWord.get(word) ?? none;
}

export function isTopic(word: string): boolean {
  return word.startsWith("#");
}
