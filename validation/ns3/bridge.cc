// SPDX-License-Identifier: Apache-2.0
//
// ns-3 as a library that a program drives from outside, one window of simulated time after the other.
//
// Hosts, routers, links, queues and routing are those of ns-3. Its own part is a channel between a router of ns-3 and the world outside:
// frames from outside come in at their time, and frames of the router go out with the time at which their first bit was on the line.
//
// All times are in ps. Functions return -1 on an error, and `ns3net_error` returns its text.

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

const uint64_t NONE = UINT64_MAX;
const uint16_t SERVICE = 9999;   // UDP port of all hosts
const uint32_t PPP_BYTES = 2;    // header of ns-3's point-to-point links
const uint32_t HOST_QUEUE = 1u << 20; // packets that may wait in a host: more than any scenario sends

/// The number of a packet in the program outside ns-3.
class Number : public Tag
{
  public:
    uint64_t value = NONE;

    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("spinet::Number").SetParent<Tag>().AddConstructor<Number>();
        return id;
    }
    TypeId GetInstanceTypeId() const override { return GetTypeId(); }
    uint32_t GetSerializedSize() const override { return 8; }
    void Serialize(TagBuffer buffer) const override { buffer.WriteU64(value); }
    void Deserialize(TagBuffer buffer) override { value = buffer.ReadU64(); }
    void Print(std::ostream& out) const override { out << value; }
};

uint64_t NumberOf(Ptr<const Packet> packet)
{
    Number number;
    packet->PeekPacketTag(number);
    return number.value;
}

/// The scheduler of ns-3, which also tells the time of the next event.
class Agenda : public MapScheduler
{
  public:
    static Agenda* current;

    Agenda() { current = this; }
    ~Agenda() override { current = nullptr; }
    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("spinet::Agenda").SetParent<MapScheduler>().AddConstructor<Agenda>();
        return id;
    }
};
Agenda* Agenda::current = nullptr;

uint64_t Ps(Time time)
{
    return static_cast<uint64_t>(time.GetPicoSeconds());
}

} // namespace

extern "C"
{
/// Something that happened.
struct Ns3Event
{
    uint64_t at_ps;
    uint64_t number; // of the packet
    uint32_t kind;
    uint32_t node;
    uint32_t port;
    uint32_t bytes; // of the IP packet; for LEFT, `ns3net_take` copies them
};
}

namespace
{

enum Kind : uint32_t
{
    LEFT,      // through an edge, whose first bit is on the line
    DELIVERED, // to the program on a host, which has all of it
    DROPPED,   // by the queue of a port
    MARKED,    // with congestion, by the queue of a port
    LOST,      // elsewhere: no route, or a full queue of a device. Scenarios have none
};

struct World
{
    std::vector<Ptr<Node>> nodes;
    std::vector<std::vector<Ptr<PointToPointNetDevice>>> ports; // by node
    std::vector<Ptr<Socket>> sockets;                           // by node
    std::vector<std::pair<uint32_t, uint32_t>> edges;           // node and port
    std::deque<Ns3Event> events;
    std::deque<std::vector<uint8_t>> left; // bytes of each LEFT event
    std::string error;
};
World* world = nullptr;

int Fail(const std::string& text)
{
    if (world)
    {
        world->error = text;
    }
    return -1;
}

void Note(Kind kind, uint32_t node, uint32_t port, Ptr<const Packet> packet, uint32_t bytes)
{
    world->events.push_back({Ps(Simulator::Now()), NumberOf(packet), kind, node, port, bytes});
}

/// The line between a port of a router and the world outside. It takes the place of ns-3's channel when a transmission
/// begins, as ns-3's own channel between two processes does.
class Edge : public PointToPointChannel
{
  public:
    uint32_t node = 0;
    uint32_t port = 0;

    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("spinet::Edge").SetParent<PointToPointChannel>().AddConstructor<Edge>();
        return id;
    }
    bool TransmitStart(Ptr<const Packet> packet, Ptr<PointToPointNetDevice>, Time) override
    {
        std::vector<uint8_t> bytes(packet->GetSize());
        packet->CopyData(bytes.data(), bytes.size());
        bytes.erase(bytes.begin(), bytes.begin() + PPP_BYTES);
        Note(LEFT, node, port, packet, bytes.size());
        world->left.push_back(std::move(bytes));
        return true;
    }
};

/// Makes a device as a port of a node. The gap stands for the bits that Ethernet adds to a frame.
Ptr<PointToPointNetDevice> AddPort(uint32_t node, uint64_t bps, uint64_t gap_ps, uint32_t queue_packets)
{
    auto device = CreateObjectWithAttributes<PointToPointNetDevice>(
        "DataRate", DataRateValue(DataRate(bps)),
        "InterframeGap", TimeValue(PicoSeconds(gap_ps)),
        "Mtu", UintegerValue(9000));
    auto queue = CreateObjectWithAttributes<DropTailQueue<Packet>>(
        "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, queue_packets)));
    device->SetQueue(queue);
    device->SetAddress(Mac48Address::Allocate());
    world->nodes[node]->AddDevice(device);
    // As PointToPointHelper does: queue discs learn from it if the device has room.
    auto interface = CreateObject<NetDeviceQueueInterface>();
    interface->GetTxQueue(0)->ConnectQueueTraces(queue);
    device->AggregateObject(interface);
    const uint32_t port = world->ports[node].size();
    world->ports[node].push_back(device);
    device->TraceConnectWithoutContext("MacTxDrop", Callback<void, Ptr<const Packet>>([node, port](Ptr<const Packet> packet) {
                                           Note(LOST, node, port, packet, packet->GetSize());
                                       }));
    return device;
}

/// Lets IP use the newest port of a node.
int AddAddress(uint32_t node, uint32_t ip)
{
    auto ipv4 = world->nodes[node]->GetObject<Ipv4>();
    const uint32_t interface = ipv4->AddInterface(world->ports[node].back());
    ipv4->AddAddress(interface, Ipv4InterfaceAddress(Ipv4Address(ip), Ipv4Mask::GetOnes()));
    ipv4->SetMetric(interface, 1);
    ipv4->SetUp(interface);
    return world->ports[node].size() - 1;
}

void OnDelivered(uint32_t node, Ptr<Socket> socket)
{
    while (auto packet = socket->Recv())
    {
        Note(DELIVERED, node, 0, packet, packet->GetSize());
    }
}

void Enter(Ptr<PointToPointNetDevice> device, Ptr<Packet> packet)
{
    device->Receive(packet);
}

void Send(Ptr<Socket> socket, Ptr<Packet> packet, InetSocketAddress to)
{
    if (socket->SendTo(packet, 0, to) < 0)
    {
        Fail("a host could not send a packet");
    }
}

} // namespace

extern "C"
{

/// Begins a network. There is one at a time.
int ns3net_open()
{
    if (world)
    {
        return Fail("a network is open already");
    }
    world = new World;
    static bool is_first = true;
    if (is_first)
    {
        Time::SetResolution(Time::PS);
        GlobalValue::Bind("ChecksumEnabled", BooleanValue(true));
        is_first = false;
    }
    ObjectFactory agenda;
    agenda.SetTypeId(Agenda::GetTypeId());
    Simulator::SetScheduler(agenda);
    return 0;
}

void ns3net_close()
{
    Simulator::Destroy();
    delete world;
    world = nullptr;
}

const char* ns3net_error()
{
    return world ? world->error.c_str() : "no network is open";
}

/// Adds a router or a host, which differ only in their use, and returns its number.
int ns3net_node()
{
    auto node = CreateObject<Node>();
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    Ipv4StaticRoutingHelper routing;
    stack.SetRoutingHelper(routing);
    stack.Install(node);
    const uint32_t number = world->nodes.size();
    node->GetObject<Ipv4L3Protocol>()->TraceConnectWithoutContext(
        "Drop",
        Callback<void, const Ipv4Header&, Ptr<const Packet>, Ipv4L3Protocol::DropReason, Ptr<Ipv4>, uint32_t>(
            [number](const Ipv4Header&, Ptr<const Packet> packet, Ipv4L3Protocol::DropReason, Ptr<Ipv4>, uint32_t port) {
                Note(LOST, number, port, packet, packet->GetSize());
            }));
    world->nodes.push_back(node);
    world->ports.emplace_back();
    world->sockets.emplace_back();
    return number;
}

/// Joins two nodes. Each end has an address and room for a number of packets in the device, beside that on the line.
int ns3net_link(uint32_t a, uint32_t a_ip, uint32_t a_room, uint32_t b, uint32_t b_ip, uint32_t b_room, uint64_t bps, uint64_t delay_ps, uint64_t gap_ps)
{
    auto channel = CreateObjectWithAttributes<PointToPointChannel>("Delay", TimeValue(PicoSeconds(delay_ps)));
    auto one = AddPort(a, bps, gap_ps, a_room ? a_room : HOST_QUEUE);
    auto other = AddPort(b, bps, gap_ps, b_room ? b_room : HOST_QUEUE);
    one->Attach(channel);
    other->Attach(channel);
    AddAddress(a, a_ip);
    AddAddress(b, b_ip);
    return 0;
}

/// Adds a port of a router that leads outside, and returns the number of the edge. Its frames leave when their first bit is on the line.
int ns3net_edge(uint32_t node, uint32_t ip, uint32_t room, uint64_t bps, uint64_t gap_ps)
{
    auto channel = CreateObject<Edge>();
    channel->node = node;
    channel->port = world->ports[node].size();
    AddPort(node, bps, gap_ps, room)->Attach(channel);
    // ns-3 asks for the other end of each link. This one receives nothing.
    auto outside = CreateObject<Node>();
    auto peer = CreateObject<PointToPointNetDevice>();
    peer->SetAddress(Mac48Address::Allocate());
    outside->AddDevice(peer);
    peer->Attach(channel);
    const int port = AddAddress(node, ip);
    world->edges.emplace_back(node, port);
    return world->edges.size() - 1;
}

/// Gives a port a queue for `limit` packets. A packet that finds `mark` packets or more in it is marked; 0 marks none.
int ns3net_queue(uint32_t node, uint32_t port, uint32_t limit, uint32_t mark)
{
    TrafficControlHelper control;
    const QueueSizeValue size(QueueSize(QueueSizeUnit::PACKETS, limit));
    if (mark == 0)
    {
        control.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", size);
    }
    else
    {
        // RED whose average is the present length and whose thresholds are equal: a step.
        control.SetRootQueueDisc("ns3::RedQueueDisc",
                                 "MaxSize", size,
                                 "MinTh", DoubleValue(mark),
                                 "MaxTh", DoubleValue(mark),
                                 "QW", DoubleValue(1.0),
                                 "Gentle", BooleanValue(false),
                                 "UseEcn", BooleanValue(true),
                                 "UseHardDrop", BooleanValue(false));
    }
    auto disc = control.Install(world->ports[node][port]).Get(0);
    const auto dropped = [node, port](Ptr<const QueueDiscItem> item) {
        // RED marks a packet before it looks for room. A packet that finds none counts as dropped only.
        const uint64_t number = NumberOf(item->GetPacket());
        if (!world->events.empty() && world->events.back().kind == MARKED && world->events.back().number == number)
        {
            world->events.pop_back();
        }
        Note(DROPPED, node, port, item->GetPacket(), item->GetSize());
    };
    const auto marked = [node, port](Ptr<const QueueDiscItem> item, const char*) {
        Note(MARKED, node, port, item->GetPacket(), item->GetSize());
    };
    disc->TraceConnectWithoutContext("Drop", Callback<void, Ptr<const QueueDiscItem>>(dropped));
    disc->TraceConnectWithoutContext("Mark", Callback<void, Ptr<const QueueDiscItem>, const char*>(marked));
    return 0;
}

/// Sends packets for an address through a port.
int ns3net_route(uint32_t node, uint32_t ip, uint32_t port)
{
    auto ipv4 = world->nodes[node]->GetObject<Ipv4>();
    const int32_t interface = ipv4->GetInterfaceForDevice(world->ports[node][port]);
    Ipv4StaticRoutingHelper().GetStaticRouting(ipv4)->AddHostRouteTo(Ipv4Address(ip), interface);
    return 0;
}

/// Gives a host a program that receives all packets.
int ns3net_receiver(uint32_t node)
{
    auto socket = Socket::CreateSocket(world->nodes[node], UdpSocketFactory::GetTypeId());
    socket->SetAttribute("RcvBufSize", UintegerValue(UINT32_MAX));
    if (socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), SERVICE)) < 0)
    {
        return Fail("a host could not bind its port");
    }
    socket->SetRecvCallback(Callback<void, Ptr<Socket>>([node](Ptr<Socket> socket) { OnDelivered(node, socket); }));
    world->sockets[node] = socket;
    return 0;
}

/// Lets a host with a receiver send a UDP packet at a time.
int ns3net_send(uint32_t node, uint64_t at_ps, uint64_t number, uint32_t ip, uint32_t payload_bytes, uint8_t tos)
{
    auto packet = Create<Packet>(payload_bytes);
    Number tag;
    tag.value = number;
    packet->AddPacketTag(tag);
    InetSocketAddress to(Ipv4Address(ip), SERVICE);
    to.SetTos(tos); // that of the socket counts only if it is connected
    Simulator::ScheduleWithContext(node, PicoSeconds(at_ps) - Simulator::Now(), &Send, world->sockets[node], packet, to);
    return 0;
}

/// Lets an IP packet come in through an edge; its last bit is there at `at_ps`.
int ns3net_put(uint32_t edge, uint64_t at_ps, uint64_t number, const uint8_t* bytes, uint32_t len)
{
    if (at_ps < Ps(Simulator::Now()))
    {
        return Fail("a packet would come in at " + std::to_string(at_ps) + " ps, which is in the past");
    }
    const auto [node, port] = world->edges[edge];
    auto packet = Create<Packet>(bytes, len);
    Number tag;
    tag.value = number;
    packet->AddPacketTag(tag);
    PppHeader header;
    header.SetProtocol(0x0021); // IPv4
    packet->AddHeader(header);
    Simulator::ScheduleWithContext(node, PicoSeconds(at_ps) - Simulator::Now(), &Enter, world->ports[node][port], packet);
    return 0;
}

/// The time of the next event; all bits are set if there is none.
uint64_t ns3net_next()
{
    return Agenda::current && !Agenda::current->IsEmpty() ? Agenda::current->PeekNext().key.m_ts : NONE;
}

/// Simulates up to `until_ps`, which is included.
int ns3net_run(uint64_t until_ps)
{
    Simulator::Stop(PicoSeconds(until_ps + 1) - Simulator::Now());
    Simulator::Run();
    return world->error.empty() ? 0 : -1;
}

/// Takes the next event. Copies the bytes of a packet that left, if they fit. Returns 0 if there is no event.
int ns3net_take(Ns3Event* event, uint8_t* bytes, uint32_t room)
{
    if (world->events.empty())
    {
        return 0;
    }
    *event = world->events.front();
    world->events.pop_front();
    if (event->kind == LEFT)
    {
        const auto left = std::move(world->left.front());
        world->left.pop_front();
        if (left.size() > room)
        {
            return Fail("a packet has " + std::to_string(left.size()) + " bytes");
        }
        std::memcpy(bytes, left.data(), left.size());
    }
    return 1;
}
}
